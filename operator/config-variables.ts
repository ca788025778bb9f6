import type { Setting } from '../core/setting.ts'

/**
 * Environment variables of the operator and of the manifests watcher. `readConfig` and `readInjection` read no other
 * names.
 */
export const CONFIG_VARIABLES = {
  CONTROL_PLANE_URL: {
    fallback: 'required',
    meaning: 'Address of the control plane, `https`; plain `http` for addresses of this machine only',
  },
  OPERATOR_TOKEN_FILE: {
    fallback: 'required',
    meaning: 'File with the token of the operator, read on every call',
  },
  CONTROL_PLANE_CA_FILE: {
    fallback: 'public roots',
    meaning: 'File with the certificate authorities of the certificate of the control plane (PEM)',
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    fallback: 'none',
    meaning:
      'Resource attributes of OpenTelemetry, as percent-encoded `key=value,...`. Every log line has them in the field `resource`, and sidecars get them too. A value that cannot be parsed is ignored',
  },
  LOG_LEVEL: {
    fallback: '`info`',
    meaning:
      'Least severe level that is logged: `fatal`, `error`, `warn`, `info`, `debug` or `trace`; `silent` logs nothing',
  },
  MANIFESTS_DIR: {
    fallback: 'none: custom resources of a cluster',
    meaning: 'Folder of manifests on one machine; if set, the operator ignores the variables below',
  },
  POD_NAMESPACE: {
    fallback: 'required',
    meaning: 'Namespace of the Lease and of the ConfigMap `chaperone-emergency`',
  },
  POD_NAME: { fallback: '`operator`', meaning: 'Identity in the Lease and in Events, with a random suffix' },
  KUBECONFIG: { fallback: 'ServiceAccount of the pod', meaning: 'File with the access to the API server' },
  KUBERNETES_SERVICE_HOST: { fallback: 'set by the kubelet', meaning: 'Host of the API server' },
  KUBERNETES_SERVICE_PORT: { fallback: '`443`', meaning: 'Port of the API server' },
  CONTROL_PLANE_PEERS_HOST: {
    fallback: 'none',
    meaning:
      'Host of the headless Service of the control plane; the operator sends kill switches to all of its replicas',
  },
  CONTROL_PLANE_PEERS: {
    fallback: 'none',
    meaning:
      'Addresses of the replicas of the control plane, separated by commas, if there is no headless Service',
  },
  LEASE_NAME: { fallback: '`chaperone-operator`', meaning: 'Lease of the leader' },
  HEALTH_HOST: {
    fallback: '`0.0.0.0`',
    meaning: 'Address on which the operator serves `/livez`, `/readyz` and `/metrics`',
  },
  HEALTH_PORT: {
    fallback: '`8081`',
    meaning: 'Port of `/livez`, `/readyz` and `/metrics`; `0` selects any free port',
  },
  GATEWAY_FLOORS: {
    fallback: 'none',
    meaning:
      'Minimum strictness of Gateways outside the platform namespaces, as JSON (`{"enforcementLevel": "full_enforce"}`)',
  },
  PLATFORM_NAMESPACES: {
    fallback: 'none',
    meaning:
      'Namespaces of the platform team, separated by commas. Gateways there may be less strict than `GATEWAY_FLOORS`',
  },
  INJECTION: {
    fallback: 'on',
    meaning: '`off` disables the webhook; sidecars must be added to pods by other means',
  },
  SIDECAR_IMAGE: { fallback: 'required, unless `INJECTION` is `off`', meaning: 'Image of the sidecar' },
  RULES_IMAGE: {
    fallback: '`SIDECAR_IMAGE`',
    meaning: 'Image of the init container that sets the capture rules (nftables) of a pod',
  },
  SIDECAR_COMMAND: {
    fallback: 'the command of the released image',
    meaning: 'Command of the sidecar and its arguments, separated by blanks',
  },
  SIDECAR_PULL_POLICY: { fallback: '`IfNotPresent`', meaning: '`Always`, `IfNotPresent` or `Never`' },
  SIDECAR_PULL_SECRETS: {
    fallback: 'none',
    meaning:
      'Names of Secrets, separated by commas, that the injector adds to `imagePullSecrets` of governed pods; they must exist in the namespace of each pod',
  },
  SIDECAR_CONTROL_PLANE_URL: {
    fallback: '`CONTROL_PLANE_URL`',
    meaning: 'Address of the control plane for sidecars',
  },
  SIDECAR_DNS_PODS: {
    fallback: '`kube-system/k8s-app=kube-dns`',
    meaning:
      'Pods of the DNS servers, `NAMESPACE/KEY=VALUE,...`, for the NetworkPolicies of governed pods of agent-sandbox and of pods with `proxyEnv`',
  },
  PROXY_ENV_UPSTREAMS: {
    fallback: 'none: no NetworkPolicy',
    meaning:
      'Addresses that pods with `interception: proxyEnv` may reach in addition to the control plane and DNS, as JSON (`[{"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"], "ports": [443]}]`). The chart sets it with `networkPolicy.proxyEnv.enabled`',
  },
  SIDECAR_DNS_RESOLVERS: {
    fallback: 'the DNS servers of `/etc/resolv.conf` of the operator, which are those of the cluster',
    meaning:
      'DNS servers of sidecars, `IP` or `IP:PORT`, separated by commas. The DNS settings of pods do not affect sidecars',
  },
  SIDECAR_CLUSTER_DOMAIN: {
    fallback: 'the domain of `/etc/resolv.conf` of the operator, or `cluster.local`',
    meaning: 'Domain of the Services of the cluster, for sidecars',
  },
  SIDECAR_SEARCH_DOMAINS: {
    fallback: 'the search domains of `/etc/resolv.conf` of the operator, without those of the cluster',
    meaning:
      'Search domains of the nodes (`ec2.internal`), separated by commas, which sidecars omit from records of DNS look-ups',
  },
  SIDECAR_LOG_LEVEL: { fallback: '`info`', meaning: '`LOG_LEVEL` of sidecars' },
  WEBHOOK_HOST: { fallback: '`0.0.0.0`', meaning: 'Address of the webhook' },
  WEBHOOK_PORT: { fallback: '`8443`', meaning: 'Port of the webhook; `0` selects any free port' },
  WEBHOOK_SERVICE: {
    fallback: '`chaperone-webhook`',
    meaning: 'Service through which the API server calls the webhook',
  },
  WEBHOOK_SERVICE_PORT: { fallback: '`443`', meaning: 'Port of the Service of the webhook' },
  WEBHOOK_ADDRESS: {
    fallback: 'through the Service',
    meaning: 'Host at which the API server calls the webhook directly instead of through a Service',
  },
  WEBHOOK_CERTIFICATE_SECRET: {
    fallback: 'the operator issues its own certificate',
    meaning:
      'Secret (`kubernetes.io/tls` with `ca.crt`) with the certificate of the webhook, such as cert-manager writes it; read every minute',
  },
  OPERATOR_SERVICE_ACCOUNT: {
    fallback: '`chaperone-operator`',
    meaning:
      'ServiceAccount of the operator. The admission policies let this account change objects that belong to Chaperone',
  },
  EVICT_UNGOVERNED: {
    fallback: '`false`',
    meaning: '`true`: pods that can bypass their Gateway are evicted, not only reported',
  },
} as const satisfies Readonly<Record<string, Setting>>
