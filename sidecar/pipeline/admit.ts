import { isIP } from 'node:net'
import { findConnector, prefersHttp1 } from '../../core/connectors/registry.ts'
import { decideUnowned } from '../../core/decision/egress.ts'
import { normaliseHost } from '../../core/request/authority.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import { identify } from '../identity.ts'
import type { Credentials } from './exchange.ts'
import type { PipelinePorts } from './ports.ts'

export type ConnectTarget = { readonly host: string; readonly port: number }

/**
 * How a CONNECT is handled. `intercept`: answer 200, terminate TLS, and create an exchange for every request inside.
 * `pipeline`: create a tunnel exchange, which answers the CONNECT and is recorded. `refuse`: the same, but a refusal
 * is sent inside the tunnel, because clients show neither status nor body of a refused CONNECT.
 */
export type Admit = (target: ConnectTarget, credentials: Credentials) => 'intercept' | 'refuse' | 'pipeline'

/**
 * `canRefuseInside`: clients of `chaperone run` accept the certificates of this gateway for every name. False in pods, and
 * where the names of the certificate authority are constrained.
 */
export function createAdmit(ports: Pick<PipelinePorts, 'snapshot'>, canRefuseInside = false): Admit {
  return ({ host, port }, credentials) => {
    const snapshot = ports.snapshot()
    if (snapshot === null || identify(credentials, snapshot)?.status !== 'active') return 'pipeline'
    const bound = findConnector(snapshot.hosts, host, port)
    if (bound?.entry.tlsMode === 'intercept') return 'intercept'
    const canTell = bound === null && canRefuseInside && isStartedByRun(credentials)
    return canTell && isRefusedOnWebPort(snapshot, host, port) ? 'refuse' : 'pipeline'
  }
}

/** An address has no certificate that a client expects: its CONNECT is refused. */
function isRefusedOnWebPort(snapshot: Snapshot, host: string, port: number): boolean {
  return isIP(host) === 0 && isWebPort(port) && decideUnowned(snapshot, host, port).verdict !== 'allow'
}

/** Only `chaperone run` uses the keys of places, and it makes its command trust the certificates. */
function isStartedByRun(credentials: Credentials): boolean {
  return credentials.kind === 'basic' && credentials.keyedPort !== undefined
}

/** Other ports belong to databases, SSH and the like, whose clients understand a refused CONNECT alone. */
function isWebPort(port: number): boolean {
  return port === 443 || port === 80 || port === 8_443
}

/** Returns the name of the agent with these credentials; null for unknown credentials. */
function createAgentOf(ports: Pick<PipelinePorts, 'snapshot'>): (credentials: Credentials) => string | null {
  return (credentials) => {
    const snapshot = ports.snapshot()
    return snapshot === null ? null : (identify(credentials, snapshot)?.name ?? null)
  }
}

/** Tells the hosts for which TLS prefers HTTP/1.1. A host in any letter case, for example from a server name. */
export function createPrefersHttp1(ports: Pick<PipelinePorts, 'snapshot'>): (host: string) => boolean {
  return (host) => {
    const snapshot = ports.snapshot()
    const name = normaliseHost(host)
    return snapshot !== null && name !== null && prefersHttp1(snapshot.hosts, name)
  }
}

/** The questions of the listener about a connection that the rules in force answer. */
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
