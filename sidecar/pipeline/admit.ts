import { isIP } from 'node:net'
import { findConnector, prefersHttp1 } from '../../core/connectors/registry.ts'
import { decideUnowned } from '../../core/decision/egress.ts'
import { normaliseHost } from '../../core/request/authority.ts'
import { GATEWAY_HOST } from '../../core/request/gateway-host.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import { identify } from '../identity.ts'
import type { Credentials } from './credentials/credentials.ts'
import type { PipelinePorts } from './ports.ts'

export type ConnectTarget = { readonly host: string; readonly port: number }

/**
 * Way to handle a CONNECT. `intercept`: answer 200, terminate TLS, and create an exchange for every request inside.
 * `pipeline`: create a tunnel exchange, which answers the CONNECT and is recorded. `refuse`: create a tunnel exchange
 * too, but send its refusal inside the tunnel, because clients show neither status nor body of a refused CONNECT.
 */
export type Admit = (target: ConnectTarget, credentials: Credentials) => 'intercept' | 'refuse' | 'pipeline'

/**
 * Creates the function that selects how a CONNECT is handled. Some clients, such as undici, request plain HTTP by
 * CONNECT, too, so the gateway's own host is intercepted on port 80. `canRefuseInside` is true when clients of
 * `chaperone run` trust this gateway's certificates for every name; false in pods, and where the certificate authority
 * has name constraints.
 */
export function createAdmit(ports: Pick<PipelinePorts, 'snapshot'>, canRefuseInside = false): Admit {
  return ({ host, port }, credentials) => {
    const snapshot = ports.snapshot()
    if (snapshot === null || identify(credentials, snapshot)?.status !== 'active') return 'pipeline'
    const bound = findConnector(snapshot.hosts, host, port)
    if (bound?.entry.tlsMode === 'intercept' || isGatewayItself(host, port)) return 'intercept'
    const canTell = bound === null && canRefuseInside && isStartedByRun(credentials)
    return canTell && isRefusedOnWebPort(snapshot, host, port) ? 'refuse' : 'pipeline'
  }
}

function isGatewayItself(host: string, port: number): boolean {
  return host === GATEWAY_HOST && port === 80
}

/**
 * Returns true when the gateway refuses the host and the port is one of HTTP. Returns false for IP addresses: clients
 * expect no certificate for them, so their CONNECT itself is refused.
 */
function isRefusedOnWebPort(snapshot: Snapshot, host: string, port: number): boolean {
  return isIP(host) === 0 && isWebPort(port) && decideUnowned(snapshot, host, port).verdict !== 'allow'
}

/**
 * Returns true for clients of `chaperone run`. No other clients use port keys, and `chaperone run` makes its command
 * trust the certificates of the gateway.
 */
function isStartedByRun(credentials: Credentials): boolean {
  return credentials.kind === 'basic' && credentials.keyedPort !== undefined
}

/**
 * Returns true for ports that carry HTTP. On other ports clients use databases, SSH and similar protocols, and
 * understand only a refused CONNECT.
 */
function isWebPort(port: number): boolean {
  return port === 443 || port === 80 || port === 8_443
}

/** Creates the function that returns the name of the agent with given credentials; null for unknown credentials. */
function createAgentOf(ports: Pick<PipelinePorts, 'snapshot'>): (credentials: Credentials) => string | null {
  return (credentials) => {
    const snapshot = ports.snapshot()
    return snapshot === null ? null : (identify(credentials, snapshot)?.name ?? null)
  }
}

/**
 * Creates the function that returns true for hosts for which the gateway prefers HTTP/1.1 in ALPN. The function accepts
 * a host in any letter case, because clients send the server name (SNI) in any letter case.
 */
export function createPrefersHttp1(ports: Pick<PipelinePorts, 'snapshot'>): (host: string) => boolean {
  return (host) => {
    const snapshot = ports.snapshot()
    const name = normaliseHost(host)
    return snapshot !== null && name !== null && prefersHttp1(snapshot.hosts, name)
  }
}

/** Creates the functions by which listeners decide about connections. Each call reads the current snapshot. */
export function createConnectionRules(
  ports: Pick<PipelinePorts, 'snapshot'>,
  canRefuseInside: boolean,
): { admit: Admit; agentOf: ReturnType<typeof createAgentOf>; prefersHttp1: (host: string) => boolean } {
  return {
    admit: createAdmit(ports, canRefuseInside),
    agentOf: createAgentOf(ports),
    prefersHttp1: createPrefersHttp1(ports),
  }
}
