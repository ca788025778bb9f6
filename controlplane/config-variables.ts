import type { Setting } from '../core/setting.ts'

/** Environment variables of the control plane. `readConfig` reads no other variables. */
export const CONFIG_VARIABLES = {
  HOST: { fallback: '`127.0.0.1`', meaning: 'Address to listen on' },
  LISTEN_LOOPBACK: {
    fallback: 'off; `chaperone up` sets `on`',
    meaning: '`on`: also listens on `127.0.0.1` at the same port, for the programs of this machine',
  },
  PORT: { fallback: '`3000`', meaning: 'Port to listen on; `0` selects any free port' },
  ONLY_REPLICA: {
    fallback: 'off; `chaperone up` sets `on` with its own PostgreSQL',
    meaning:
      '`on`: no other control plane uses the database. At start, the control plane marks the local gateway processes that a killed control plane left behind as disconnected',
  },
  DATABASE_URL: {
    fallback: 'required',
    meaning:
      'PostgreSQL, `postgres://user:password@host:5432/database`; the role only needs to own its database',
  },
  DATABASE_LISTEN_URL: {
    fallback: '`DATABASE_URL`',
    meaning:
      'Address of PostgreSQL itself when `DATABASE_URL` leads to a connection pooler: for notifications between replicas and for migrations. If this variable is not set, a replica behind a pooler polls twice a second, and cannot migrate the database',
  },
  DATABASE_PREPARE: {
    fallback: 'on',
    meaning:
      '`off`: no prepared statements. Needed behind PgBouncer before 1.21 in transaction mode, or with `max_prepared_statements = 0`',
  },
  HTTPS_PROXY: {
    fallback: 'none',
    meaning:
      'HTTP proxy for calls to https addresses of the identity provider, chat, webhooks, push services of browsers, token endpoints of Connectors and `RECORD_EXPORT_URL`; never for SMTP, the API server, the database or loopback. The proxy resolves the host names, so the control plane does not check their addresses: the proxy must refuse internal addresses itself',
  },
  HTTP_PROXY: { fallback: 'none', meaning: 'HTTP proxy for the same calls to http addresses' },
  NO_PROXY: {
    fallback: 'none',
    meaning:
      'Hosts that are called without the proxy, separated by commas: names, suffixes, addresses, ranges, or `*`',
  },
  DATABASE_CA_FILE: {
    fallback: 'public roots, with `sslmode` in the URL',
    meaning:
      'Certificate authority of the PostgreSQL server (PEM): the certificate and the host name of the server are verified; with `sslmode=verify-ca` in the URL, only the certificate is verified. The file is read again for every connection',
  },
  DATABASE_CERT_FILE: {
    fallback: 'none',
    meaning: 'Client certificate for PostgreSQL (PEM), read again for every connection',
  },
  DATABASE_KEY_FILE: { fallback: 'none', meaning: 'Private key of `DATABASE_CERT_FILE` (PEM)' },
  DATABASE_POOL_SIZE: {
    fallback: '`10`',
    meaning:
      'Database connections for requests, 4 to 200; five more listen for changes. The sum over all replicas must stay below `max_connections` of the server',
  },
  MASTER_KEY_FILE: {
    fallback: 'required',
    meaning:
      'File with 32 random bytes as base64 or hex, with which stored credentials are encrypted. `chaperone keys rotate` adds and removes lines',
  },
  MASTER_KEY: { fallback: 'none', meaning: 'The master key itself, where a file is not possible' },
  TLS_HOSTS: {
    fallback: 'plain HTTP',
    meaning:
      'Host names or addresses, separated by commas, to serve HTTPS for; a certificate authority (CA) that is derived from the master key signs the certificates (`chaperone cluster-setup` publishes the CA)',
  },
  TLS_CERT_FILE: {
    fallback: 'none',
    meaning:
      'File with your own certificate (PEM) for HTTPS; the control plane reads it again every hour. With `TLS_HOSTS`, this certificate is used only for those of its host names that `TLS_HOSTS` does not list',
  },
  TLS_KEY_FILE: { fallback: 'none', meaning: 'File with the private key of `TLS_CERT_FILE` (PEM)' },
  PUBLIC_URL: {
    fallback: 'the address that the control plane listens on',
    meaning: 'Address that users open; `https:` makes cookies `Secure`',
  },
  REGISTRATION: {
    fallback: '`open` for requests of this machine to loopback, else `invite`',
    meaning:
      '`open`: every user who reaches the control plane may register as viewer; `invite`: users register by invitation only. Behind a proxy on the same machine, set `PUBLIC_URL`',
  },
  APPROVALS: {
    fallback:
      '`session`; `token` if `ADMIN_TOKEN_OBJECT` is set, because break-glass closes the token in a cluster',
    meaning:
      '`session`: once there is an owner, approvals and changes of rules need the session of a user, and the token of `ADMIN_TOKEN_FILE` may only read, activate the kill switch and manage agents; `token`: that token may do everything',
  },
  AUDIT_RETENTION_DAYS: {
    fallback: "the plan's",
    meaning: 'Days for which audit events are kept; the cleanup deletes older events permanently',
  },
  TRAFFIC_RETENTION_HOURS: {
    fallback: '`168` (seven days)',
    meaning:
      'Hours for which records of requests are kept after the end of their UTC day, 1 to 168. Records that wait for their export are kept for up to seven days more',
  },
  RECORD_EXPORT_URL: {
    fallback: 'none: records stay in the database only',
    meaning:
      'URL to which every record of a request is sent as OTLP logs over HTTP, with its path, such as `http://collector:4318/v1/logs` ([production.md](production.md#export-of-records))',
  },
  RECORD_EXPORT_HEADERS_FILE: {
    fallback: 'none',
    meaning:
      'File with header fields of the requests to `RECORD_EXPORT_URL`, one `Name: value` a line, such as `Authorization: Bearer …`. Read again for every request',
  },
  MAINTENANCE_SECRET: {
    fallback: 'none: both endpoints refuse all requests',
    meaning: 'Bearer token of `POST /api/maintenance/cleanup` and `GET /api/metrics`',
  },
  ADMIN_TOKEN_FILE: {
    fallback: 'no admin token',
    meaning:
      'File with the admin token, which the command line uses; the control plane creates a missing file (mode 0600)',
  },
  INSTALLATION_KEY_FILE: {
    fallback: '`GET /api/challenge` answers 404',
    meaning:
      'File with the installation key, in the home of the user who runs `chaperone up`. With this key `GET /api/challenge` proves to the command line that the server belongs to its data folder',
  },
  LOCAL_GATEWAY_TOKEN_FILE: {
    fallback: 'no local gateway',
    meaning: 'File with the token with which the gateway `default/local` registers at the control plane',
  },
  OPERATOR_TOKEN_FILE: {
    fallback: 'no operator',
    meaning:
      'File with the token with which the operator, or the process of `chaperone up` that reads manifests, signs in to the control plane',
  },
  OPERATOR_SERVICE_ACCOUNT: {
    fallback: 'none',
    meaning:
      "`<namespace>/<name>` of the operator's ServiceAccount: its projected token (audience `chaperone-control-plane`) is then accepted like the token of `OPERATOR_TOKEN_FILE`",
  },
  ADMIN_TOKEN_OBJECT: {
    fallback: 'none',
    meaning:
      'In a cluster: `<namespace>/<name>` of the Secret that holds the admin token. Once a user with the role admin has signed in, the token only activates the kill switch, except until the time in the key `break-glass-until` of the Secret, which `kubectl chaperone break-glass` sets. The control plane needs the right to `get` this Secret',
  },
  OWNER_LINK_OBJECT: {
    fallback: 'none',
    meaning:
      'In a cluster: `<namespace>/<name>` of the Secret that holds the link with which the first owner signs up (keys `token` and `expires-at`); the control plane needs the right to `get` this Secret',
  },
  KUBE_API_URL: {
    fallback: "the cluster's own in a pod, else none",
    meaning: 'URL of the Kubernetes API, which reviews the ServiceAccount tokens of sidecars',
  },
  KUBE_CA_FILE: {
    fallback: '`/var/run/secrets/kubernetes.io/serviceaccount/ca.crt`',
    meaning: 'File with the CA certificate of the Kubernetes API (PEM)',
  },
  KUBE_TOKEN_FILE: {
    fallback: '`/var/run/secrets/kubernetes.io/serviceaccount/token`',
    meaning:
      'File with the token for the Kubernetes API; its ServiceAccount needs the right to create `tokenreviews`',
  },
  KUBERNETES_SERVICE_HOST: { fallback: 'set by the kubelet', meaning: 'Host of the Kubernetes API' },
  KUBERNETES_SERVICE_PORT: { fallback: '`443`', meaning: 'Port of the Kubernetes API' },
  TRUSTED_PROXIES: {
    fallback: 'none',
    meaning:
      'Addresses and ranges, separated by commas, whose `X-Forwarded-For` names the client; failed sign-ins are counted by the address of the client',
  },
  NOTIFY_ALLOW_CIDRS: {
    fallback: 'none',
    meaning:
      'Private address ranges, separated by commas, to which notifications may be sent; notifications to other private addresses are refused',
  },
  TOKEN_ENDPOINT_ALLOW_CIDRS: {
    fallback: 'none',
    meaning:
      'In a cluster: private address ranges, separated by commas, in which the token endpoints of Connectors (`credential.oauth2`, `credential.githubApp`) may be; others at private addresses are refused',
  },
  LOCAL_CREDENTIALS: {
    fallback: 'off; `chaperone up` sets `on`',
    meaning:
      '`on`: Connectors of a manifests folder may take their credential from an environment variable, a file or a command of this machine (`credential.env`, `file`, `exec`)',
  },
  CREDENTIAL_FILE_DIRS: {
    fallback: 'none',
    meaning:
      'In a cluster: directories, separated by commas, below which Connectors may name files with `credential.file`, each in the folder of its namespace (`DIR/NAMESPACE/`); for mounted volumes',
  },
  CODEHOST_PAT_NAMESPACES: {
    fallback: 'none',
    meaning:
      'In a cluster: namespaces, separated by commas, whose Gateways and Connectors may use the access token of the code host that is stored on the page Settings (`codehost_pat`)',
  },
  CLI_COMMAND: {
    fallback: '`chaperone`; `chaperone up` sets its own',
    meaning:
      'Command that the dashboard shows in its instructions, such as `./scripts/chaperone.sh` in a checkout',
  },
  DASHBOARD_EDITING: {
    fallback: '`rows`',
    meaning:
      '`yaml`: Gateways, Connectors, Permissions and Policies are changed by manifests only; pages and API refuse edits with 409 and the manifest to commit. `rows`: pages and API store edits in the database',
  },
  PLATFORM_NAMESPACES: {
    fallback: 'none',
    meaning:
      'In a cluster: namespaces of the platform team, separated by commas, whose Policies apply to all Gateways, in a tier before the Policies of tenants',
  },
  OIDC_ISSUER: {
    fallback: 'sign-in by password only',
    meaning:
      'Issuer of the OpenID Connect provider, exactly as its discovery document names it ([users.md](users.md)); register the redirect URI `<PUBLIC_URL>/api/auth/oidc/callback` for its client',
  },
  OIDC_CLIENT_ID: { fallback: 'required beside `OIDC_ISSUER`', meaning: 'Id of the client at the provider' },
  OIDC_CLIENT_SECRET_FILE: {
    fallback: 'none: a public client',
    meaning: 'File with the secret of the client',
  },
  OIDC_SCOPES: {
    fallback: '`openid profile email`',
    meaning:
      'Scopes, separated by spaces; `offline_access` is added where the provider lists it. Add `groups` if the provider lists the groups of a user only with this scope',
  },
  OIDC_GROUPS_CLAIM: { fallback: '`groups`', meaning: 'The claim that lists the groups of a user' },
  OIDC_GROUPS: {
    fallback: 'required beside `OIDC_ISSUER`',
    meaning:
      'Roles, approver groups and namespaces of the groups of the provider, as JSON: `{"<group>": {"role": "admin\\|member\\|viewer", "approverGroups": [], "namespaces": []}}`; `*` is every user of the provider; without `namespaces` the role counts everywhere',
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
      'In a cluster: least strict settings that Gateways outside of the platform namespaces may have, as JSON (`{"enforcementLevel": "full_enforce"}`)',
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    fallback: 'none',
    meaning:
      'Resource attributes of OpenTelemetry, as percent-encoded `key=value,...`. Every log line has them in the field `resource`. A value that cannot be parsed is ignored',
  },
  LOG_LEVEL: {
    fallback: '`info`',
    meaning:
      'Least severe level that is logged: `fatal`, `error`, `warn`, `info`, `debug` or `trace`; `silent` logs nothing',
  },
} as const satisfies Readonly<Record<string, Setting>>

export type ConfigVariable = keyof typeof CONFIG_VARIABLES
