import type { Setting } from '../core/setting.ts'

const INJECTED = 'set by the injector'

/** Environment variables of a gateway. `readConfig` reads no other names. */
export const CONFIG_VARIABLES = {
  CONTROL_PLANE_URL: {
    fallback: 'required',
    meaning: 'Address of the control plane, `https`; plain `http` for addresses of this machine only',
  },
  GATEWAY_TOKEN_FILE: { fallback: 'required', meaning: 'File with the token of the enrolled gateway' },
  DATA_DIR: { fallback: 'required', meaning: 'Folder of the journal, of tokens and of the CA' },
  HOST: { fallback: '`127.0.0.1`', meaning: 'Address to listen on' },
  PORT: { fallback: '`9443`', meaning: 'Port to listen on; `0` = any free one' },
  INTERNAL_TOKEN_FILE: {
    fallback: '`DATA_DIR/gateway.token`',
    meaning: 'File with the bearer token of the internal API; made (0600) when it is missing',
  },
  CA_CERT_FILE: {
    fallback: '`DATA_DIR/ca.crt`',
    meaning: 'Certificate of the CA (PEM); made with its key when both are missing',
  },
  CA_KEY_FILE: { fallback: '`DATA_DIR/ca.key`', meaning: 'Key of the CA (PEM)' },
  CA_BUNDLE_FILE: {
    fallback: '`DATA_DIR/ca-bundle.crt`',
    meaning: 'File to which the public roots and the CA are written, for clients',
  },
  JOURNAL_MAX_BYTES: {
    fallback: '`268435456`',
    meaning: 'Bytes of the journal, at least 65536. A full journal refuses requests with 503',
  },
  BODY_BUDGET_BYTES: {
    fallback:
      "a quarter of the memory limit of the process (without one: of the machine's memory), at most 1 GiB",
    meaning:
      'Request bodies that are kept in memory because they are read whole, those of held requests included',
  },
  MAX_CONNECTIONS: { fallback: '`1000`', meaning: 'Open connections of all agents together' },
  MAX_CONNECTIONS_PER_AGENT: {
    fallback: '`400`, at most half of all; in a pod all',
    meaning:
      'Open connections of one agent. Beyond it the agent is answered 503 with the name of the limit, and other agents are not affected',
  },
  MAX_TUNNELS_PER_AGENT: { fallback: 'as many as connections', meaning: 'CONNECT tunnels of one agent' },
  EVENT_LOOP_BLOCKED_MS: {
    fallback: '`200`',
    meaning: 'Milliseconds, 20 to 99999, beyond which a turn of the event loop is logged and counted',
  },
  WHOLE_REFUSALS_PER_MINUTE: {
    fallback: '`60`',
    meaning:
      'Refusals of one agent in a minute, 1 to 999999, with a record each; further ones share an aggregate record',
  },
  LOG_LEVEL: {
    fallback: '`info`',
    meaning: '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`',
  },
  CAPTURE_SOCKET: {
    fallback: 'none; `chaperone up` sets it',
    meaning: 'Unix socket for the connections of `chaperone run --capture`',
  },
  INSTALLATION_KEY_FILE: {
    fallback: 'none; `chaperone up` sets it',
    meaning: 'Key that proves to the command line that this is the gateway of its data folder',
  },
  ROLE: { fallback: INJECTED, meaning: '`pod` in a pod: the variables below count' },
  INTERCEPTION: { fallback: INJECTED, meaning: '`transparent` or `proxyEnv`' },
  GATEWAY_NAME: { fallback: INJECTED, meaning: '`namespace/name` of the Gateway' },
  AGENT_NAME: { fallback: INJECTED, meaning: '`namespace/name` of the agent' },
  POD_NAME: { fallback: INJECTED, meaning: 'Name of the pod' },
  POD_NAMESPACE: { fallback: INJECTED, meaning: 'Namespace of the pod' },
  POD_UID: { fallback: INJECTED, meaning: 'UID of the pod' },
  POD_SERVICE_ACCOUNT: { fallback: INJECTED, meaning: 'ServiceAccount of the pod' },
  CONTROL_PLANE_CA_FILE: {
    fallback: 'public roots; the injector sets it',
    meaning: 'Certificate authorities of the control plane (PEM)',
  },
  ADMIN_SOCKET: { fallback: INJECTED, meaning: 'Unix socket of the internal API' },
  TRUST_DIR: { fallback: INJECTED, meaning: 'Folder to which the trust files of the agent are written' },
  EXTRA_CA_FILE: {
    fallback: 'none; the injector sets it',
    meaning: 'Certificate authorities of `trust.extraSecretRef` (PEM)',
  },
} as const satisfies Readonly<Record<string, Setting>>
