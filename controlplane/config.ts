import { isIP } from 'node:net'
import { type Floors, readFloors } from '../core/crd/gateway/floors.ts'
import { parseResourceAttributes } from '../core/resource-attributes.ts'
import type { EditingMode } from '../core/wire/access/sessions.ts'
import { type PodApi, podApiOf, SERVICE_ACCOUNT } from '../kube/pod-access.ts'
import type { ConfigVariable } from './config-variables.ts'
import { readDatabaseAddresses } from './db/connection/addresses.ts'
import { type DatabaseTlsFiles, readDatabaseTls } from './db/connection/tls.ts'
import { type EgressProxySettings, readEgressProxy } from './egress-proxy.ts'
import { APPROVALS_MODES, type ApprovalsMode, approvalsMode } from './features/approvals/settings.ts'
import { type LocalSettings, readLocalSettings } from './features/credentials/local/settings.ts'
import { type RetentionSettings, readRetentionSettings } from './features/maintenance/settings.ts'
import { type OidcSettings, readOidcSettings } from './features/oidc/settings.ts'
import { type RecordExportSettings, readRecordExportSettings } from './features/record-export/settings.ts'
import { isLoopbackOnly } from './http/auth/loopback-only.ts'

export type ControlPlaneConfig = RetentionSettings & {
  readonly host: string
  /** Port of the listener; 0 selects any free port. */
  readonly port: number
  /** Whether the server also listens on 127.0.0.1, on the same port. No effect if `host` is a loopback address. */
  readonly listensOnLoopback: boolean
  readonly databaseUrl: string
  /** Address of PostgreSQL itself, without a connection pooler; null when `databaseUrl` is this address. */
  readonly databaseListenUrl: string | null
  readonly databasePreparesStatements: boolean
  readonly databaseTls: DatabaseTlsFiles
  /** Whether no other process uses the database. */
  readonly isOnlyReplica: boolean
  /** Maximum number of connections in the pool. The process has five more connections for LISTEN. */
  readonly databasePoolSize: number
  readonly masterKey: { readonly file: string } | { readonly value: string }
  readonly adminTokenFile: string | null
  readonly installationKeyFile: string | null
  readonly localGatewayTokenFile: string | null
  readonly operatorTokenFile: string | null
  /**
   * Address of the dashboard for users, without a slash at the end. Null means that the address is derived from host
   * and port.
   */
  readonly publicUrl: string | null
  readonly registration: RegistrationMode
  /**
   * Whether approvals require a session. `session`: once an owner exists, the token of ADMIN_TOKEN_FILE cannot answer
   * approvals or change rules.
   */
  readonly approvals: ApprovalsMode
  /** Destination of exported records. Null means that no records are exported. */
  readonly recordExport: RecordExportSettings | null
  readonly maintenanceSecret: string | null
  readonly notifyAllowCidrs: readonly string[]
  /** Private ranges in which token endpoints of Connectors of a cluster may be. */
  readonly tokenEndpointAllowCidrs: readonly string[]
  /** Sources of credentials that the control plane reads itself: variables, files and commands of its machine. */
  readonly localSources: LocalSettings
  /** Addresses and CIDR ranges of the reverse proxies in front of this server. */
  readonly trustedProxies: readonly string[]
  /** Certificate of the listener; null means plain HTTP. */
  readonly tls: TlsConfig | null
  /** The API server of the cluster; null outside a cluster. */
  readonly kubeApi: PodApi | null
  /**
   * ServiceAccount of the operator. Null means that the operator authenticates by the token in `OPERATOR_TOKEN_FILE`.
   */
  readonly operatorAccount: { readonly namespace: string; readonly name: string } | null
  /** In a cluster: namespaces whose Gateways and Connectors may use the setting `codehost_pat`. */
  readonly codehostPatNamespaces: readonly string[]
  /** Namespaces of the platform team (`PLATFORM_NAMESPACES`), whose policies can apply to every Gateway. */
  readonly platformNamespaces: readonly string[]
  /** How users can edit Gateways, Connectors, Permissions and Policies (`DASHBOARD_EDITING`). */
  readonly editing: EditingMode
  /** Command line of this installation, for the texts of the dashboard. */
  readonly command: string
  /** Minimum strictness of Gateways (`GATEWAY_FLOORS`) outside the namespaces of the platform team. */
  readonly gatewayFloors: Floors
  /** In a cluster: the Secret that holds the owner link. Null means that the database holds owner links. */
  readonly ownerLinkSecret: { readonly namespace: string; readonly name: string } | null
  readonly adminTokenSecret: { readonly namespace: string; readonly name: string } | null
  /** Settings of the identity provider; null when only passwords are enabled. */
  readonly oidc: OidcSettings | null
  /** Whether users may sign in with a password. */
  readonly isPasswordOn: boolean
  /**
   * HTTP proxies for calls to the identity provider, chat, webhooks, push services and the destination of exported
   * records (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`).
   */
  readonly egressProxy: EgressProxySettings
  readonly logLevel: string
}

/** Paths of a certificate and its private key (PEM). */
export type CertificateFiles = { readonly certFile: string; readonly keyFile: string }

export type TlsConfig =
  /**
   * The CA of the installation issues a certificate for `hosts`. A client that requests (SNI) any other host name in
   * the certificate of `files` receives this certificate. Without `hosts`, all clients receive the given certificate.
   */
  { readonly hosts: readonly [string, ...string[]]; readonly files?: CertificateFiles } | CertificateFiles

/**
 * How new users register. `local`: without an invitation for requests from this machine; by invitation for requests
 * that a proxy forwarded.
 */
export type RegistrationMode = 'open' | 'local' | 'invite'

type Env = Readonly<Record<string, string | undefined>>
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/** Reads the environment variables. Each error names the variable, the problem and the value to set. */
export function readConfig(env: Env): ControlPlaneConfig {
  const host = text(env, 'HOST') ?? '127.0.0.1'
  const oidc = readOidcSettings((name) => text(env, name))
  return {
    host,
    port: port(env),
    listensOnLoopback: choice(env, 'LISTEN_LOOPBACK', ['on', 'off']) === 'on',
    ...readDatabaseAddresses((name) => text(env, name)),
    databasePreparesStatements: choice(env, 'DATABASE_PREPARE', ['on', 'off']) !== 'off',
    databaseTls: readDatabaseTls((name) => text(env, name)),
    isOnlyReplica: choice(env, 'ONLY_REPLICA', ['off', 'on']) === 'on',
    databasePoolSize: databasePoolSize(env),
    masterKey: masterKey(env),
    adminTokenFile: text(env, 'ADMIN_TOKEN_FILE'),
    installationKeyFile: text(env, 'INSTALLATION_KEY_FILE'),
    localGatewayTokenFile: text(env, 'LOCAL_GATEWAY_TOKEN_FILE'),
    operatorTokenFile: text(env, 'OPERATOR_TOKEN_FILE'),
    publicUrl: publicUrl(env),
    registration: registration(env, host),
    approvals: approvalsMode(choice(env, 'APPROVALS', APPROVALS_MODES), text(env, 'ADMIN_TOKEN_OBJECT')),
    ...readRetentionSettings((name) => text(env, name)),
    recordExport: readRecordExportSettings(
      (name) => text(env, name),
      parseResourceAttributes(env['OTEL_RESOURCE_ATTRIBUTES']),
    ),
    maintenanceSecret: text(env, 'MAINTENANCE_SECRET'),
    notifyAllowCidrs: cidrs(env, 'NOTIFY_ALLOW_CIDRS'),
    tokenEndpointAllowCidrs: cidrs(env, 'TOKEN_ENDPOINT_ALLOW_CIDRS'),
    localSources: readLocalSettings((name) => text(env, name), env),
    trustedProxies: trustedProxies(env),
    tls: tls(env),
    kubeApi: kubeApiOf(env),
    operatorAccount: namespacedName(
      env,
      'OPERATOR_SERVICE_ACCOUNT',
      "<ServiceAccount> of the operator's pods",
    ),
    adminTokenSecret: namespacedName(env, 'ADMIN_TOKEN_OBJECT', '<Secret> of the admin token'),
    ownerLinkSecret: namespacedName(env, 'OWNER_LINK_OBJECT', '<Secret> of the owner link'),
    codehostPatNamespaces: listOf(text(env, 'CODEHOST_PAT_NAMESPACES')),
    platformNamespaces: listOf(text(env, 'PLATFORM_NAMESPACES')),
    editing: (choice(env, 'DASHBOARD_EDITING', ['rows', 'yaml']) as EditingMode | null) ?? 'rows',
    command: text(env, 'CLI_COMMAND') ?? 'chaperone',
    oidc,
    isPasswordOn: isPasswordOn(env, oidc !== null),
    gatewayFloors: readFloors(text(env, 'GATEWAY_FLOORS')),
    egressProxy: readEgressProxy((name) => text(env, name)),
    logLevel: choice(env, 'LOG_LEVEL', LOG_LEVELS) ?? 'info',
  }
}

function text(env: Env, name: ConfigVariable): string | null {
  const value = env[name]?.trim()
  return value === undefined || value === '' ? null : value
}

function port(env: Env): number {
  const value = text(env, 'PORT') ?? '3000'
  const number = Number(value)
  if (/^\d+$/.test(value) && number <= 65_535) return number
  throw new Error(`PORT is "${value}": set it to a number from 0 (any free port) to 65535`)
}

const POOL_SIZES = { least: 4, most: 200, fallback: 10 }

function databasePoolSize(env: Env): number {
  const { least, most, fallback } = POOL_SIZES
  const value = text(env, 'DATABASE_POOL_SIZE') ?? String(fallback)
  const size = Number(value)
  if (/^\d{1,3}$/.test(value) && size >= least && size <= most) return size
  throw new Error(`DATABASE_POOL_SIZE is "${value}": set it to a number from ${least} to ${most}`)
}

function masterKey(env: Env): ControlPlaneConfig['masterKey'] {
  const file = text(env, 'MASTER_KEY_FILE')
  if (file !== null) return { file }
  const value = text(env, 'MASTER_KEY')
  if (value !== null) return { value }
  throw new Error(
    'MASTER_KEY_FILE is not set: set it to a file with 32 random bytes as base64 (`openssl rand -base64 32`); stored credentials are encrypted with it',
  )
}

function publicUrl(env: Env): string | null {
  const value = text(env, 'PUBLIC_URL')
  if (value === null) return null
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Error(
      `PUBLIC_URL is "${value}": set it to the address that users open, such as https://chaperone.example.com`,
    )
  }
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

function tls(env: Env): TlsConfig | null {
  const [certFile, keyFile] = [text(env, 'TLS_CERT_FILE'), text(env, 'TLS_KEY_FILE')]
  if ((certFile === null) !== (keyFile === null))
    throw new Error('TLS_CERT_FILE and TLS_KEY_FILE belong together: set both, or TLS_HOSTS alone')
  const files = certFile === null || keyFile === null ? null : { certFile, keyFile }
  const [first, ...others] = listOf(text(env, 'TLS_HOSTS'))
  const wrong = [first, ...others].find(
    (host) => host !== undefined && !/^[a-zA-Z0-9.:*-]{1,253}$/.test(host),
  )
  if (wrong !== undefined)
    throw new Error(`TLS_HOSTS holds "${wrong}": set it to host names or addresses, separated by commas`)
  return first === undefined ? files : { hosts: [first, ...others], ...(files && { files }) }
}

function listOf(value: string | null): readonly string[] {
  return (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/**
 * Returns the API server of the cluster: from the environment variables, otherwise from the pod's own cluster.
 * Returns null outside a cluster.
 */
export function kubeApiOf(env: Env): ControlPlaneConfig['kubeApi'] {
  const own = podApiOf(env)
  const url = text(env, 'KUBE_API_URL') ?? own?.url ?? null
  const caFile = text(env, 'KUBE_CA_FILE') ?? `${SERVICE_ACCOUNT}/ca.crt`
  const tokenFile = text(env, 'KUBE_TOKEN_FILE') ?? `${SERVICE_ACCOUNT}/token`
  if (url === null) return null
  if (URL.canParse(url) && new URL(url).protocol === 'https:') {
    return { url: url.replace(/\/+$/, ''), caFile, tokenFile }
  }
  throw new Error(`KUBE_API_URL is "${url}": set it to an address such as https://kubernetes.default.svc`)
}

function namespacedName(
  env: Env,
  variable: 'OPERATOR_SERVICE_ACCOUNT' | 'OWNER_LINK_OBJECT' | 'ADMIN_TOKEN_OBJECT',
  what: string,
): ControlPlaneConfig['operatorAccount'] {
  const value = text(env, variable)
  if (value === null) return null
  const [, namespace, name] = /^([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})$/.exec(value) ?? []
  if (namespace !== undefined && name !== undefined) return { namespace, name }
  throw new Error(`${variable} is "${value}": set it to <namespace>/${what}`)
}

/**
 * Returns the configured registration mode. Default: `local` when only this machine can reach the server, otherwise
 * `invite`.
 */
function registration(env: Env, host: string): RegistrationMode {
  const chosen = choice(env, 'REGISTRATION', ['open', 'invite'])
  if (chosen !== null) return chosen as RegistrationMode
  const reached = { host, publicUrl: publicUrl(env), trustedProxies: trustedProxies(env) }
  return isLoopbackOnly(reached) ? 'local' : 'invite'
}

function isPasswordOn(env: Env, hasProvider: boolean): boolean {
  const isOn = choice(env, 'SIGN_IN', ['any', 'oidc']) !== 'oidc'
  if (isOn || hasProvider) return isOn
  throw new Error(
    'SIGN_IN is oidc without OIDC_ISSUER, so no user could sign in: set OIDC_ISSUER, or leave SIGN_IN out',
  )
}

function cidrs(env: Env, name: 'NOTIFY_ALLOW_CIDRS' | 'TOKEN_ENDPOINT_ALLOW_CIDRS'): readonly string[] {
  const given = listOf(text(env, name))
  const wrong = given.find((part) => !isCidr(part))
  if (wrong === undefined) return given
  throw new Error(`${name} has "${wrong}": set it to ranges such as 10.0.0.0/8, separated by commas`)
}

function trustedProxies(env: Env): readonly string[] {
  const given = listOf(text(env, 'TRUSTED_PROXIES'))
  const wrong = given.find((part) => isIP(part) === 0 && !isCidr(part))
  if (wrong === undefined) return given
  throw new Error(
    `TRUSTED_PROXIES has "${wrong}": set it to addresses or ranges such as 10.0.0.0/8, separated by commas`,
  )
}

function isCidr(range: string): boolean {
  const [address = '', bits = ''] = range.split('/')
  const family = isIP(address)
  return family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
}

function choice(env: Env, name: ConfigVariable, choices: readonly string[]): string | null {
  const value = text(env, name)
  if (value === null || choices.includes(value)) return value
  throw new Error(`${name} is "${value}": set it to one of ${choices.join(', ')}`)
}
