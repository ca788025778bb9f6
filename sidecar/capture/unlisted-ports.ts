import { findConnector } from '../../core/connectors/registry.ts'
import { entryForOtherPort, readAllowed } from '../../core/decision/egress.ts'
import { authorityText } from '../../core/request/authority-text.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { Exchange } from '../pipeline/exchange.ts'

/**
 * Collects ports that agents requested on hosts for which `egress.allowedHosts` lists only other ports. Each pair of
 * list entry and port is reported once, until the list entry changes or the port becomes governed or allowed.
 */
export type UnlistedPorts = {
  /** Records a request to a host without a connector. */
  note(exchange: Pick<Exchange, 'snapshot' | 'request'>): void
  /**
   * Returns full sentences for the status of the gateway. `snapshot` is the current snapshot; null before the first
   * one.
   */
  warnings(snapshot: Snapshot | null): readonly string[]
}

/** Maximum number of stored pairs of list entry and port. There is a limit, because agents choose the ports. */
const MAX_LISTED = 32
const MORE =
  'Agents requested hosts of egress.allowedHosts at ports that no entry covers. See the denied requests in the traffic log.'

type Unlisted = { readonly entry: string; readonly host: string; readonly port: number }

export function createUnlistedPorts(): UnlistedPorts {
  const listed = new Map<string, Unlisted>()
  let hasMore = false

  function discardOutdated(snapshot: Snapshot): void {
    for (const [key, unlisted] of listed) if (!isUnlisted(snapshot, unlisted)) listed.delete(key)
    if (listed.size < MAX_LISTED) hasMore = false
  }

  return {
    note({ snapshot, request }) {
      if (snapshot === undefined || request === undefined) return
      const { host, port } = request
      const entry = entryForOtherPort(snapshot, host, port)
      if (entry === undefined || listed.has(keyOf(entry, port))) return
      if (listed.size < MAX_LISTED) listed.set(keyOf(entry, port), { entry, host, port })
      else hasMore = true
    },
    warnings(snapshot) {
      if (snapshot !== null) discardOutdated(snapshot)
      const sentences = [...listed.values()].map(sentenceOf).sort()
      return hasMore ? [...sentences, MORE] : sentences
    },
  }
}

function isUnlisted(snapshot: Snapshot, { entry, host, port }: Unlisted): boolean {
  if (findConnector(snapshot.hosts, host, port) !== null) return false
  return entryForOtherPort(snapshot, host, port) === entry
}

function keyOf(entry: string, port: number): string {
  return `${entry} ${port}`
}

/**
 * Returns the warning about one port. The warning names the entry of the list, never the requested host, because an
 * agent chooses the host.
 */
function sentenceOf({ entry, port }: Unlisted): string {
  const { host, port: listed } = readAllowed(entry)
  const missing = authorityText(host, port)
  return `Agents requested ${missing}, but ${entry} in egress.allowedHosts covers port ${listed} only. If the agents need this port, add ${missing}.`
}
