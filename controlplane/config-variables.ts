import type { Setting } from '../core/setting.ts'

/** Environment variables of the control plane. `readConfig` accepts no other names. */
export const CONFIG_VARIABLES = {
  HOST: { fallback: '`127.0.0.1`', meaning: 'Address to listen on' },
  LISTEN_LOOPBACK: {
    fallback: 'off; `chaperone up` sets `on`',
    meaning: '`on`: also listens on `127.0.0.1` at the same port, for the programs of this machine',
  },
  PORT: { fallback: '`3000`', meaning: 'Port to listen on; `0` = any free one' },
  ONLY_REPLICA: {
    fallback: 'off; `chaperone up` sets `on` with its own PostgreSQL',
    meaning:
      '`on`: no other control plane uses the database, so that the local gateway of one that was killed does not count after a start',
  },
  DATABASE_URL: {
    fallback: 'required',
    meaning:
      'PostgreSQL, `postgres://user:password@host:5432/database`; the role only needs to own its database',
  },
  DATABASE_POOL_SIZE: {
    fallback: '`10`',
    meaning:
      'Database connections for requests, 4 to 200; three more listen for changes. The sum over all replicas stays below `max_connections` of the server',
  },
  MASTER_KEY_FILE: {
    fallback: 'required',
    meaning: 'File with 32 random bytes as base64 or hex; stored credentials are encrypted with it',
  },
  MASTER_KEY: { fallback: 'none', meaning: 'The key itself, where a file is not possible' },
  TLS_HOSTS: {
    fallback: 'plain HTTP',
    meaning:
      'Names or addresses, separated by commas, to serve HTTPS for; the certificates come from an authority that is derived from the master key (`chaperone cluster-setup` publishes it)',
  },
  TLS_CERT_FILE: {
    fallback: 'none',
    meaning: 'A certificate of your own (PEM) to serve HTTPS with, read again every hour',
  },
  TLS_KEY_FILE: { fallback: 'none', meaning: 'Its key (PEM)' },
  PUBLIC_URL: {
    fallback: 'address it listens on',
    meaning: 'Address that people open; `https:` makes cookies `Secure`',
  },
  REGISTRATION: {
    fallback: '`open` for requests of this machine to loopback, else `invite`',
    meaning:
      '`open`: whoever reaches it may register as viewer; `invite`: by invitation only. A proxy on the same machine: set `PUBLIC_URL`',
  },
  APPROVALS: {
    fallback: '`token`; `chaperone up` sets `session`',
    meaning:
      '`session`: once there is an owner, approvals and changes of rules need the session of a user, and the token of `ADMIN_TOKEN_FILE` reads, activates the kill switch and manages agents; `token`: that token does everything',
  },
  AUDIT_RETENTION_DAYS: {
    fallback: "the plan's",
    meaning: 'Days that audit events are kept; older ones are removed for good by the cleanup',
  },
  MAINTENANCE_SECRET: {
    fallback: 'nobody may',
    meaning: 'Bearer of `POST /api/maintenance/cleanup` and `GET /api/metrics`',
  },
  ADMIN_TOKEN_FILE: {
    fallback: 'no such token',
    meaning: "The command line's token; made (0600) when it is missing",
  },
  INSTALLATION_KEY_FILE: {
    fallback: 'no such proof',
    meaning:
      'Key in the home of the user who runs `chaperone up`: with it `GET /api/challenge` proves to the command line that this is the server of its data folder',
  },
  LOCAL_GATEWAY_TOKEN_FILE: {
    fallback: 'no local gateway',
    meaning: 'Enrols the gateway `default/local` with this token',
  },
  OPERATOR_TOKEN_FILE: {
    fallback: 'no operator',
    meaning: 'Token of the operator or of the manifests watcher',
  },
  OPERATOR_SERVICE_ACCOUNT: {
    fallback: 'none',
    meaning:
      "`<namespace>/<name>` of the operator's ServiceAccount: its projected token (audience `chaperone-control-plane`) is then as good as that token",
  },
  ADMIN_TOKEN_OBJECT: {
    fallback: 'none',
    meaning:
      'In a cluster: `<namespace>/<name>` of the Secret that holds the admin token. Once a user with the role admin has signed in, the token works only until the time in its entry `break-glass-until`, but for activating the kill switch; needs the right to `get` it',
  },
  OWNER_LINK_OBJECT: {
    fallback: 'none',
    meaning:
      'In a cluster: `<namespace>/<name>` of the Secret that holds the owner link (`token`, `expires-at`); needs the right to `get` it',
  },
  KUBE_API_URL: {
    fallback: "the cluster's own in a pod, else none",
    meaning: "The cluster's API, asked whose ServiceAccount token a sidecar shows",
  },
  KUBE_CA_FILE: {
    fallback: '`/var/run/secrets/kubernetes.io/serviceaccount/ca.crt`',
    meaning: 'Authority of that API',
  },
  KUBE_TOKEN_FILE: {
    fallback: '`/var/run/secrets/kubernetes.io/serviceaccount/token`',
    meaning: 'Token for that API; needs the right to create `tokenreviews`',
  },
  KUBERNETES_SERVICE_HOST: { fallback: 'set by the kubelet', meaning: 'With the next one: where the API is' },
  KUBERNETES_SERVICE_PORT: { fallback: '`443`', meaning: 'See above' },
  TRUSTED_PROXIES: {
    fallback: 'none',
    meaning:
      'Addresses and ranges, separated by commas, whose `X-Forwarded-For` names the client: sign-ins are counted by its address',
  },
  NOTIFY_ALLOW_CIDRS: {
    fallback: 'none',
    meaning: 'Private ranges that notifications may be sent to, separated by commas',
  },
  CODEHOST_PAT_NAMESPACES: {
    fallback: 'none',
    meaning:
      'In a cluster: namespaces, separated by commas, whose Gateways and Connectors may use the setting `codehost_pat`',
  },
  DASHBOARD_EDITING: {
    fallback: '`rows`',
    meaning:
      '`yaml`: Gateways, Connectors, Permissions and Policies are changed by manifests only; pages and API answer the manifest to commit (409). `rows`: pages and API store what is edited',
  },
  PLATFORM_NAMESPACES: {
    fallback: 'none',
    meaning:
      'In a cluster: namespaces of the platform team, separated by commas, whose Policies are for all Gateways and stand before those of tenants',
  },
  OIDC_ISSUER: {
    fallback: 'sign-in by password only',
    meaning:
      'Issuer of the OpenID Connect provider, exactly as its discovery document names it ([people.md](people.md)); its client has the redirect URI `<PUBLIC_URL>/api/auth/oidc/callback`',
  },
  OIDC_CLIENT_ID: { fallback: 'required beside `OIDC_ISSUER`', meaning: 'The client at the provider' },
  OIDC_CLIENT_SECRET_FILE: {
    fallback: 'none: a public client',
    meaning: 'File with the secret of the client',
  },
  OIDC_SCOPES: {
    fallback: '`openid profile email`',
    meaning:
      'Scopes, separated by blanks; `offline_access` is added where the provider lists it. Some providers need `groups`',
  },
  OIDC_GROUPS_CLAIM: { fallback: '`groups`', meaning: 'The claim that lists the groups of a user' },
  OIDC_GROUPS: {
    fallback: 'required beside `OIDC_ISSUER`',
    meaning:
      'What groups of the provider give, as JSON: `{"<group>": {"role": "admin\\|member\\|viewer", "approverGroups": [], "namespaces": []}}`; `*` is every user of the provider; without `namespaces` the role counts everywhere',
  },
  OIDC_NAME: { fallback: 'host of the issuer', meaning: 'Name of the provider on the sign-in page' },
  SIGN_IN: {
    fallback: '`any`',
    meaning:
      '`oidc`: users sign in through the provider only, not by password; sessions and approver keys of users with a password end',
  },
  GATEWAY_FLOORS: {
    fallback: 'none',
    meaning:
      'In a cluster: minimum strictness of Gateways outside of the platform namespaces, as JSON (`{"enforcementLevel": "full_enforce"}`)',
  },
  LOG_LEVEL: {
    fallback: '`info`',
    meaning: '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`',
  },
} as const satisfies Readonly<Record<string, Setting>>

export type ConfigVariable = keyof typeof CONFIG_VARIABLES
