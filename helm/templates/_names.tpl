{{- define "chaperone.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Sidecars call the Services by these names, which the certificates contain. */}}
{{- define "chaperone.controlPlaneHost" -}}
chaperone-control-plane.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "chaperone.labels" -}}
app.kubernetes.io/name: chaperone
app.kubernetes.io/part-of: chaperone
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* Labels of one component. Called with (list . "component"). */}}
{{- define "chaperone.componentLabels" -}}
{{ include "chaperone.labels" (first .) }}
app.kubernetes.io/component: {{ last . }}
{{- end -}}

{{- define "chaperone.selector" -}}
app.kubernetes.io/part-of: chaperone
app.kubernetes.io/instance: {{ (first .).Release.Name }}
app.kubernetes.io/component: {{ last . }}
{{- end -}}

{{/* Pod security context that conforms to the Pod Security Standard `restricted`. */}}
{{- define "chaperone.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "chaperone.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "chaperone.container" -}}
image: {{ include "chaperone.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext: {{- include "chaperone.containerSecurity" . | nindent 2 }}
{{- end -}}

{{/* Delays the stop of a container: a terminating pod receives requests for some seconds, until all nodes have updated the
endpoints of its Service. */}}
{{- define "chaperone.lastCalls" -}}
lifecycle:
  preStop: { sleep: { seconds: 10 } }
{{- end -}}

{{- define "chaperone.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Spreads replicas over nodes. Called with (list . "component"). */}}
{{- define "chaperone.spread" -}}
topologySpreadConstraints:
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "chaperone.selector" $ | nindent 8 }}
{{- end }}
{{- end -}}

{{/* Env entries with the URL of the database, from a Secret. */}}
{{- define "chaperone.databaseUrl" -}}
{{- if .Values.postgres.bundled }}
{{- if .Values.database.urlSecret.name }}
{{- fail "postgres.bundled and database.urlSecret.name exclude each other. Set only one of them." }}
{{- end }}
valueFrom: { secretKeyRef: { name: chaperone-postgres, key: url } }
{{- else }}
{{- if not .Values.database.urlSecret.name }}
{{- fail "No database is configured. Set database.urlSecret.name to a Secret with the URL of your PostgreSQL, or postgres.bundled=true for an evaluation." }}
{{- end }}
valueFrom: { secretKeyRef: { name: {{ .Values.database.urlSecret.name }}, key: {{ .Values.database.urlSecret.key }} } }
{{- end }}
{{- end -}}

{{- define "chaperone.tcpPorts" }}
{{- range . }}
- { protocol: TCP, port: {{ . }} }
{{- end }}
{{- end }}
{{- define "chaperone.scrapers" }}
{{- range .Values.networkPolicy.metricsNamespaces }}
- namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: {{ . }} } }
{{- end }}
{{- end }}

{{- define "chaperone.hook" -}}
helm.sh/hook: {{ first . }}
helm.sh/hook-weight: {{ last . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* Resource attributes of OpenTelemetry as `key=value,...`, percent-encoded and sorted by key. */}}
{{- define "chaperone.resourceAttributes" -}}
{{- $pairs := list }}
{{- range $key, $value := . }}{{ $pairs = append $pairs (printf "%s=%s" $key ($value | urlquery | replace "+" "%20")) }}{{ end }}
{{- join "," $pairs }}
{{- end }}
