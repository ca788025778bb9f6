import { findConnector } from '../../core/connectors/registry.ts'
import { entryForOtherPort, readAllowed } from '../../core/decision/egress.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { Exchange } from '../pipeline/exchange.ts'

/**
 * Remembers which ports agents requested of hosts that `egress.allowedHosts` lists for another port only. Reports each
 * entry and port once, until the entry changes or the port is governed or let through.
 */
export type UnlistedPorts = {
  /** Remembers a request to a host without connector. */
  note(exchange: Pick<Exchange, 'snapshot' | 'request'>): void
  /** Full sentences for the status of the gateway. `snapshot` is the one in force; null before the first. */
  warnings(snapshot: Snapshot | null): readonly string[]
}

/** Agents choose the ports, so the list is bounded. */
const MAX_REMEMBERED = 32
const MORE =
  'Agents asked for further ports of hosts in egress.allowedHosts that no entry covers: see the denied requests in the traffic log.'

type Unlisted = { readonly entry: string; readonly host: string; readonly port: number }

export function createUnlistedPorts(): UnlistedPorts {
  const remembered = new Map<string, Unlisted>()
  let hasMore = false

  function discardOutdated(snapshot: Snapshot): void {
    for (const [key, unlisted] of remembered) if (!isUnlisted(snapshot, unlisted)) remembered.delete(key)
    if (remembered.size < MAX_REMEMBERED) hasMore = false
  }

  return {
    note({ snapshot, request }) {
      if (snapshot === undefined || request === undefined) return
      const { host, port } = request
      const entry = entryForOtherPort(snapshot, host, port)
      if (entry === undefined || remembered.has(keyOf(entry, port))) return
      if (remembered.size < MAX_REMEMBERED) remembered.set(keyOf(entry, port), { entry, host, port })
      else hasMore = true
    },
    warnings(snapshot) {
      if (snapshot !== null) discardOutdated(snapshot)
      const sentences = [...remembered.values()].map(sentenceOf).sort()
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

/** Names the entry, never the host of the request: an agent chooses the latter. */
function sentenceOf({ entry, port }: Unlisted): string {
  const { host, port: listed } = readAllowed(entry)
  const missing = `${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
  return `Agents asked for ${missing}. egress.allowedHosts lists ${entry}, which covers port ${listed} only: add ${missing} if they need it.`
}
