import * as z from 'zod'
import { ConnectorEntry } from '../../core/wire/gateway/sync.ts'
import type { Peer } from './peer.ts'
import type { SectionLibrary } from './sections/library.ts'

const Entries = z.array(ConnectorEntry.pick({ id: true, secret: true, auth: true, minted: true }))

/**
 * Returns a function that reports whether a process has the credential of a connector. A gateway process has the
 * credentials of all connectors of its gateway. A sidecar has only the credentials that its agent may use
 * (`createSidecarConnectors`).
 */
export function createCredentialHolder(
  library: Pick<SectionLibrary, 'of'>,
  connectorId: string,
): (peer: Peer) => boolean {
  // Results by the text of a section. Sidecars with equal permissions share the text of the section `connectors`.
  const known = new Map<string, boolean>()
  return ({ gatewayId, agent, greeting: { protocol } }) => {
    const text = library.of(gatewayId, { agent, protocol })?.texts.get('connectors')
    if (text === undefined) return false
    const holds = known.get(text) ?? isIn(text, connectorId)
    known.set(text, holds)
    return holds
  }
}

function isIn(text: string, connectorId: string): boolean {
  const entry = Entries.parse(JSON.parse(text)).find(({ id }) => id === connectorId)
  if (entry === undefined) return false
  return entry.secret !== null || entry.auth.type === 'none' || entry.minted?.narrow === true
}
