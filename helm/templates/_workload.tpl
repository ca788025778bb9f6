{{/* Settings that operator and control plane share. Each template is called with (list . "component" VALUES). */}}

{{/* The ServiceAccount of a component. */}}
{{- define "chaperone.serviceAccount" -}}
{{- $account := (last .).serviceAccount -}}
{{- if not (or $account.create $account.name) -}}
{{- fail (printf "serviceAccount.create of %s is false, and serviceAccount.name is empty. Set the name of an existing ServiceAccount." (index . 1)) -}}
{{- end -}}
{{- $account.name | default (printf "chaperone-%s" (index . 1)) -}}
{{- end -}}

{{- define "chaperone.operatorAccount" -}}
{{ include "chaperone.serviceAccount" (list . "operator" .Values.operator) }}
{{- end -}}

{{- define "chaperone.serviceAccountObject" -}}
{{- with (last .).serviceAccount }}
{{- if .create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "chaperone.serviceAccount" $ }}
  namespace: {{ (first $).Release.Namespace }}
  labels: {{- include "chaperone.componentLabels" (list (first $) (index $ 1)) | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "chaperone.podMetadata" -}}
labels:
  {{- include "chaperone.componentLabels" (list (first .) (index . 1)) | nindent 2 }}
  {{- with (last .).podLabels }}{{ toYaml . | nindent 2 }}{{ end }}
{{- with (last .).podAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The start of a pod spec: account, priority, security, placement. */}}
{{- define "chaperone.podSettings" -}}
{{- $values := last . -}}
serviceAccountName: {{ include "chaperone.serviceAccount" . }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext: {{- include "chaperone.podSecurity" (first .) | nindent 2 }}
{{- include "chaperone.pullSecrets" (first .) }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $values.topologySpreadConstraints }}
topologySpreadConstraints: {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{ include "chaperone.spread" (list (first .) (index . 1)) }}
{{- end }}
{{- end -}}

{{- define "chaperone.disruptionBudget" -}}
{{- $root := first . -}}
{{- $component := index . 1 -}}
{{- $budget := (last .).podDisruptionBudget -}}
{{- if and $budget.enabled (gt (int (last .).replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: chaperone-{{ $component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "chaperone.componentLabels" (list $root $component) | nindent 4 }}
spec:
  {{- if $budget.maxUnavailable }}
  maxUnavailable: {{ $budget.maxUnavailable }}
  {{- else }}
  minAvailable: {{ $budget.minAvailable }}
  {{- end }}
  selector:
    matchLabels: {{- include "chaperone.selector" (list $root $component) | nindent 6 }}
{{- end }}
{{- end -}}
