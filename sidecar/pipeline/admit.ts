import { findConnector } from '../../core/connectors/registry.ts'
import { identify } from '../identity.ts'
import type { Credentials } from './exchange.ts'
import type { PipelinePorts } from './ports.ts'

export type ConnectTarget = { readonly host: string; readonly port: number }

/**
 * What becomes of a CONNECT. `intercept`: answer 200, end TLS, and make an exchange of every request inside.
 * `pipeline`: make a tunnel exchange of the CONNECT itself, which answers it, and has a record.
 */
export type Admit = (target: ConnectTarget, credentials: Credentials) => 'intercept' | 'pipeline'

export function createAdmit(ports: Pick<PipelinePorts, 'snapshot'>): Admit {
  return ({ host, port }, credentials) => {
    const snapshot = ports.snapshot()
    if (snapshot === null || identify(credentials, snapshot)?.status !== 'active') return 'pipeline'
    const bound = findConnector(snapshot.hosts, host, port)
    return bound?.entry.tlsMode === 'intercept' ? 'intercept' : 'pipeline'
  }
}

/** The name of the agent that presents the credentials; null when they are nobody's. */
export function createAgentOf(
  ports: Pick<PipelinePorts, 'snapshot'>,
): (credentials: Credentials) => string | null {
  return (credentials) => {
    const snapshot = ports.snapshot()
    return snapshot === null ? null : (identify(credentials, snapshot)?.name ?? null)
  }
}
