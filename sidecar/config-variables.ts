import type { Setting } from '../core/setting.ts'

const INJECTED = 'value that the injector sets'

/** Environment variables of a gateway. `readConfig` reads no other names. */
export const CONFIG_VARIABLES = {
  CONTROL_PLANE_URL: {
    fallback: 'required',
    meaning: 'Address of the control plane, `https`; plain `http` for addresses of this machine only',
  },
  GATEWAY_TOKEN_FILE: { fallback: 'required', meaning: 'File with the token of the enrolled gateway' },
  DATA_DIR: { fallback: 'required', meaning: 'Folder of the journal, of tokens and of the CA' },
  HOST: { fallback: '`127.0.0.1`', meaning: 'Address to listen on' },
  PORT: { fallback: '`9443`', meaning: 'Port to listen on; `0` selects any free port' },
  INTERNAL_TOKEN_FILE: {
    fallback: '`DATA_DIR/gateway.token`',
    meaning: 'File with the bearer token of the internal API; created with mode 0600 if missing',
  },
  CA_CERT_FILE: {
    fallback: '`DATA_DIR/ca.crt`',
    meaning:
      'File with the CA certificate of the gateway (PEM); created with its key if both files are missing',
  },
  CA_KEY_FILE: { fallback: '`DATA_DIR/ca.key`', meaning: 'File with the key of this CA certificate (PEM)' },
  CA_BUNDLE_FILE: {
    fallback: '`DATA_DIR/ca-bundle.crt`',
    meaning:
      'File to which the gateway writes the public root certificates and its own CA certificate, for clients that must trust both',
  },
  JOURNAL_MAX_BYTES: {
    fallback: '`268435456`',
    meaning:
      'Maximum bytes of the journal, at least 65536. While the journal is full, the gateway refuses requests with 503',
  },
  BODY_BUDGET_BYTES: {
    fallback:
      "a quarter of the memory limit of the process (without one: of the machine's memory), at most 1 GiB",
    meaning:
      'Bytes of memory for request bodies that the gateway reads completely, including those of held requests',
  },
  MAX_CONNECTIONS: { fallback: '`1000`', meaning: 'Maximum open connections of all agents' },
  MAX_CONNECTIONS_PER_AGENT: {
    fallback: '`400`, at most half of all connections; in a pod all connections',
    meaning:
      'Maximum open connections of one agent. Beyond the limit the agent gets 503 with the name of the limit; other agents are not affected',
  },
  MAX_TUNNELS_PER_AGENT: {
    fallback: 'the limit of open connections of one agent',
    meaning: 'Maximum CONNECT tunnels of one agent',
  },
  EVENT_LOOP_BLOCKED_MS: {
    fallback: '`200`',
    meaning:
      'Milliseconds, 20 to 99999. The gateway logs and counts iterations of the event loop that take longer',
  },
  WHOLE_REFUSALS_PER_MINUTE: {
    fallback: '`60`',
    meaning:
      'Refusals of one agent in a minute, 1 to 999999, that get a record each; further refusals share an aggregate record',
  },
  LOG_LEVEL: {
    fallback: '`info`',
    meaning:
      'Least severe level that is logged: `fatal`, `error`, `warn`, `info`, `debug` or `trace`; `silent` logs nothing',
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    fallback: 'none; the injector sets the value of the operator',
    meaning:
      'Resource attributes of OpenTelemetry, as percent-encoded `key=value,...`. Every log line has them in the field `resource`. A value that cannot be parsed is ignored',
  },
  CAPTURE_SOCKET: {
    fallback: 'none; `chaperone up` sets it',
    meaning: 'Unix socket on which the gateway accepts connections of `chaperone run --capture`',
  },
  INSTALLATION_KEY_FILE: {
    fallback: 'none; `chaperone up` sets it',
    meaning:
      'File with the key by which the command line verifies that the gateway belongs to its data folder',
  },
  ROLE: { fallback: INJECTED, meaning: '`pod` for a gateway in a pod, which reads the variables below' },
  INTERCEPTION: { fallback: INJECTED, meaning: 'Interception mode, `transparent` or `proxyEnv`' },
  IPV6_CLOSED: { fallback: INJECTED, meaning: '`true` where the capture rules drop IPv6, as under gVisor' },
  GATEWAY_NAME: { fallback: INJECTED, meaning: '`namespace/name` of the Gateway' },
  AGENT_NAME: { fallback: INJECTED, meaning: '`namespace/name` of the agent' },
  POD_NAME: { fallback: INJECTED, meaning: 'Name of the pod' },
  POD_NAMESPACE: { fallback: INJECTED, meaning: 'Namespace of the pod' },
  POD_UID: { fallback: INJECTED, meaning: 'UID of the pod' },
  POD_SERVICE_ACCOUNT: { fallback: INJECTED, meaning: 'ServiceAccount of the pod' },
  CONTROL_PLANE_ADDRESS: {
    fallback: 'none; the injector sets it',
    meaning: 'Address of the Service of the control plane, which the sidecar dials if DNS does not answer',
  },
  CONTROL_PLANE_CA_FILE: {
    fallback: 'public roots; the injector sets it',
    meaning: 'File with the certificate authorities of the certificate of the control plane (PEM)',
  },
  DNS_RESOLVERS: {
    fallback: INJECTED,
    meaning:
      'DNS servers of the gateway, `IP` or `IP:PORT`, separated by commas; `/etc/resolv.conf` and `/etc/hosts` have no effect',
  },
  CLUSTER_DOMAIN: { fallback: INJECTED, meaning: 'Domain of the Services of the cluster' },
  SEARCH_DOMAINS: {
    fallback: 'none; the injector sets it',
    meaning:
      'Search domains of the nodes, separated by commas, which records of DNS look-ups omit, as they omit those of the cluster',
  },
  START_ONLY_WITH_RULES: {
    fallback: '`false`; the injector sets it',
    meaning: '`true`: the containers of the agent wait for the rules of the Gateway without a time limit',
  },
  ADMIN_SOCKET: { fallback: INJECTED, meaning: 'Unix socket of the internal API' },
  TRUST_DIR: { fallback: INJECTED, meaning: 'Folder to which the trust files of the agent are written' },
  EXTRA_CA_FILE: {
    fallback: 'none; the injector sets it',
    meaning:
      'File with the additional certificate authorities from `trust.extraSecretRef` of the Gateway (PEM)',
  },
} as const satisfies Readonly<Record<string, Setting>>
