import { join } from 'node:path'
import { PROXY_ENV, VOLUMES } from '../core/capture/pod-contract.ts'
import { isConfidential } from '../core/loopback.ts'
import { REFUSAL_LIMITS } from '../core/state/refusal-limits.ts'
import { LIMITS } from '../core/wire/schema/limits.ts'
import type { ConnectionSettings } from './process/connection-limits.ts'
import type { DnsSettings } from './upstream/resolver.ts'

export type GatewayConfig = {
  readonly host: string
  /** Port to listen on; 0 selects any free port. */
  readonly port: number
  /** URL of the control plane, without a slash at the end. */
  readonly controlPlaneUrl: string
  /** File with the token of the enrolled gateway. */
  readonly gatewayTokenFile: string
  /** File with the bearer token of the internal API; created when missing. */
  readonly internalTokenFile: string
  readonly dataDir: string
  readonly ca: { readonly certFile: string; readonly keyFile: string; readonly bundleFile: string }
  readonly journalMaxBytes: number
  /** Budget in bytes of request bodies in memory; null for a quarter of the memory limit, at most 1 GiB. */
  readonly bodyBudgetBytes: number | null
  /** Duration in milliseconds beyond which a turn of the event loop is reported. */
  readonly eventLoopBlockedMs: number
  /**
   * Number of refusals of one agent in a minute that each have a record. Further refusals share an aggregate record.
   */
  readonly wholeRefusals: number
  readonly connections: ConnectionSettings
  readonly logLevel: string
  /** Path of the Unix socket for connections that are relayed from other network namespaces; null for none. */
  readonly captureSocket: string | null
  /** File with the key that proves the identity of the gateway to the CLI; null outside of `chaperone up`. */
  readonly installationKeyFile: string | null
  /** Settings of a gateway that is the sidecar of one agent in a pod; null outside of a pod. */
  readonly pod: PodConfig | null
}

/** Settings that the injector passes to the sidecar of a pod. */
export type PodConfig = {
  readonly interception: 'transparent' | 'proxyEnv'
  /** True when the capture rules drop IPv6 instead of redirecting it. */
  readonly isIpv6Closed: boolean
  /** Name of the Gateway, as `namespace/name`. */
  readonly gateway: string
  /** Agent that all traffic of the pod belongs to, as `namespace/name`. */
  readonly agent: string
  readonly pod: { readonly name: string; readonly namespace: string; readonly uid: string }
  readonly serviceAccount: string
  /** IP address of the control plane that is used where DNS does not answer; null for none. */
  readonly controlPlaneAddress: string | null
  /** PEM file with the CA certificates of the control plane; null to trust the public roots. */
  readonly controlPlaneCaFile: string | null
  readonly dns: DnsSettings & {
    /** Search domains of the nodes; empty if there are none. */
    readonly searchDomains: readonly string[]
  }
  /** True when the agent waits for the rules of the Gateway without a time limit. */
  readonly startsOnlyWithRules: boolean
  readonly adminSocket: string
  readonly trustDir: string
  readonly extraCaFile: string | null
}

type Env = Readonly<Record<string, string | undefined>>
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const MIN_JOURNAL_BYTES = 64 * 1024
const JOURNAL_BYTES = 256 * 1024 * 1024

/** Reads the environment. Throws an error that names the variable, the problem and a valid value. */
export function readConfig(env: Env): GatewayConfig {
  const dataDir = required(env, 'DATA_DIR', 'a folder for the journal, such as /var/lib/chaperone-gateway')
  return {
    host: text(env, 'HOST') ?? '127.0.0.1',
    port: port(env),
    controlPlaneUrl: controlPlaneUrl(env),
    gatewayTokenFile: required(env, 'GATEWAY_TOKEN_FILE', 'the file with the token of an enrolled gateway'),
    internalTokenFile: text(env, 'INTERNAL_TOKEN_FILE') ?? join(dataDir, 'gateway.token'),
    dataDir,
    ca: {
      certFile: text(env, 'CA_CERT_FILE') ?? join(dataDir, 'ca.crt'),
      keyFile: text(env, 'CA_KEY_FILE') ?? join(dataDir, 'ca.key'),
      bundleFile: text(env, 'CA_BUNDLE_FILE') ?? join(dataDir, 'ca-bundle.crt'),
    },
    journalMaxBytes: journalMaxBytes(env),
    bodyBudgetBytes: bodyBudgetBytes(env),
    eventLoopBlockedMs: eventLoopBlockedMs(env),
    wholeRefusals: wholeRefusals(env),
    connections: {
      maxConnections: count(env, 'MAX_CONNECTIONS'),
      maxConnectionsPerAgent: count(env, 'MAX_CONNECTIONS_PER_AGENT'),
      maxTunnelsPerAgent: count(env, 'MAX_TUNNELS_PER_AGENT'),
    },
    logLevel: logLevel(env),
    captureSocket: text(env, 'CAPTURE_SOCKET'),
    installationKeyFile: text(env, 'INSTALLATION_KEY_FILE'),
    pod: podConfig(env),
  }
}

function podConfig(env: Env): PodConfig | null {
  const role = text(env, PROXY_ENV.role)
  if (role === null) return null
  if (role !== 'pod') throw new Error(`ROLE is "${role}": set it to pod, or unset it`)
  const namespace = injected(env, PROXY_ENV.podNamespace)
  const agent = injected(env, PROXY_ENV.agent)
  return {
    interception: interception(env),
    isIpv6Closed: text(env, PROXY_ENV.ipv6Closed) === 'true',
    gateway: qualified(injected(env, PROXY_ENV.gateway), namespace),
    agent: qualified(agent, namespace),
    pod: { name: injected(env, PROXY_ENV.podName), namespace, uid: injected(env, PROXY_ENV.podUid) },
    serviceAccount: injected(env, PROXY_ENV.serviceAccount),
    controlPlaneAddress: text(env, PROXY_ENV.controlPlaneAddress),
    controlPlaneCaFile: text(env, PROXY_ENV.controlPlaneCaFile),
    dns: {
      servers: injected(env, PROXY_ENV.dnsResolvers).split(','),
      clusterDomain: injected(env, PROXY_ENV.clusterDomain),
      searchDomains: text(env, PROXY_ENV.searchDomains)?.split(',') ?? [],
    },
    startsOnlyWithRules: text(env, PROXY_ENV.startOnlyWithRules) === 'true',
    adminSocket: text(env, PROXY_ENV.adminSocket) ?? join(VOLUMES.admin.path, VOLUMES.admin.file),
    trustDir: text(env, PROXY_ENV.trustDir) ?? VOLUMES.trust.path,
    extraCaFile: text(env, PROXY_ENV.extraCaFile),
  }
}

function interception(env: Env): PodConfig['interception'] {
  const value = text(env, PROXY_ENV.interception) ?? 'transparent'
  if (value === 'transparent' || value === 'proxyEnv') return value
  throw new Error(`INTERCEPTION is "${value}": set it to transparent or proxyEnv`)
}

function injected(env: Env, name: string): string {
  return required(
    env,
    name,
    'the value that the injector sets; do not set ROLE: pod in a container of your own',
  )
}

/** Returns a name as `namespace/name`. A name without a namespace gets the namespace of the pod. */
function qualified(name: string, namespace: string): string {
  return name.includes('/') ? name : `${namespace}/${name}`
}

function text(env: Env, name: string): string | null {
  const value = env[name]?.trim()
  return value === undefined || value === '' ? null : value
}

function required(env: Env, name: string, what: string): string {
  const value = text(env, name)
  if (value !== null) return value
  throw new Error(`${name} is not set: set it to ${what}`)
}

function port(env: Env): number {
  const value = text(env, 'PORT') ?? '9443'
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value)
  throw new Error(`PORT is "${value}": set it to a number from 0 (any free port) to 65535`)
}

function controlPlaneUrl(env: Env): string {
  const what = 'the address of the control plane, such as http://127.0.0.1:3000'
  const value = required(env, 'CONTROL_PLANE_URL', what)
  if (!/^https?:\/\//.test(value) || !URL.canParse(value))
    throw new Error(`CONTROL_PLANE_URL is "${value}": set it to ${what}`)
  if (isConfidential(value)) return value.replace(/\/+$/, '')
  throw new Error(
    `CONTROL_PLANE_URL is "${value}": set it to an https address. Plain http sends enrolment tokens and credentials unencrypted, which is allowed for addresses of this machine only`,
  )
}

function journalMaxBytes(env: Env): number {
  const value = text(env, 'JOURNAL_MAX_BYTES')
  if (value === null) return JOURNAL_BYTES
  const bytes = Number(value)
  if (/^\d+$/.test(value) && Number.isSafeInteger(bytes) && bytes >= MIN_JOURNAL_BYTES) return bytes
  throw new Error(
    `JOURNAL_MAX_BYTES is "${value}": set it to a whole number of bytes, at least ${MIN_JOURNAL_BYTES}, or unset it for ${JOURNAL_BYTES}`,
  )
}

function bodyBudgetBytes(env: Env): number | null {
  const value = text(env, 'BODY_BUDGET_BYTES')
  if (value === null) return null
  const bytes = Number(value)
  if (/^\d+$/.test(value) && Number.isSafeInteger(bytes) && bytes >= LIMITS.decidingBodyBytes) return bytes
  throw new Error(
    `BODY_BUDGET_BYTES is "${value}": set it to a whole number of bytes, at least ${LIMITS.decidingBodyBytes}, or unset it for a quarter of the memory limit`,
  )
}

function eventLoopBlockedMs(env: Env): number {
  const value = text(env, 'EVENT_LOOP_BLOCKED_MS') ?? '200'
  if (/^\d{2,5}$/.test(value) && Number(value) >= 20) return Number(value)
  throw new Error(`EVENT_LOOP_BLOCKED_MS is "${value}": set it to a number of milliseconds from 20 to 99999`)
}

function wholeRefusals(env: Env): number {
  const value = text(env, 'WHOLE_REFUSALS_PER_MINUTE')
  if (value === null) return REFUSAL_LIMITS.whole
  if (/^[1-9]\d{0,5}$/.test(value)) return Number(value)
  throw new Error(
    `WHOLE_REFUSALS_PER_MINUTE is "${value}": set it to a number from 1 to 999999, or unset it for ${REFUSAL_LIMITS.whole}`,
  )
}

function count(env: Env, name: string): number | null {
  const value = text(env, name)
  if (value === null) return null
  if (/^[1-9]\d{0,5}$/.test(value)) return Number(value)
  throw new Error(`${name} is "${value}": set it to a whole number from 1 to 999999, or unset it`)
}

function logLevel(env: Env): string {
  const value = text(env, 'LOG_LEVEL') ?? 'info'
  if (LOG_LEVELS.includes(value)) return value
  throw new Error(`LOG_LEVEL is "${value}": set it to one of ${LOG_LEVELS.join(', ')}`)
}
