import type { KillEntry } from '../../wire/gateway/kill.ts'
import { widestScope } from './kill-reach.ts'
import { namespaceOfScope } from './kill-switch.ts'

/**
 * Maximum size of the kill switches that one gateway receives, in bytes of JSON. The bound is far below 4 MiB, because
 * a gateway closes its stream if a line has 4 MiB or more.
 */
const MAX_KILL_STATE_BYTES = 1024 * 1024
const REASON_LENGTH = 200

export type BoundedKills = {
  readonly entries: readonly KillEntry[]
  /** True if `entries` are the given kill switches, and no wider kill switch replaces some of them. */
  readonly isWhole: boolean
}

/**
 * Returns kill switches of at most `maxBytes` of JSON that cover at least the scopes of the given ones. To save space,
 * one kill switch with the widest scope of a source replaces all kill switches of that source, beginning with the
 * source with the most bytes. If that does not suffice, one kill switch for everything replaces all of them.
 */
export function boundedKills(
  entries: readonly KillEntry[],
  maxBytes: number = MAX_KILL_STATE_BYTES,
): BoundedKills {
  let total = bytesOf(entries)
  if (total <= maxBytes) return { entries, isWhole: true }
  const bySource = Map.groupBy(entries, ({ source }) => source)
  const largestFirst = [...bySource].sort(([, a], [, b]) => bytesOf(b) - bytesOf(a))
  for (const [source, own] of largestFirst) {
    if (total <= maxBytes) break
    const widest = widestOf(source, own)
    total -= bytesOf(own) - bytesOf([widest])
    bySource.set(source, [widest])
  }
  const bounded = [...bySource.values()].flat()
  if (total <= maxBytes) return { entries: bounded, isWhole: false }
  return { entries: [widestOf('control-plane', entries)], isWhole: false }
}

/** Returns one kill switch of this source that covers at least the scopes of the given kill switches. */
function widestOf(source: string, entries: readonly KillEntry[]): KillEntry {
  const [first = { scope: 'all', source, reason: '', since: '' }] = entries
  const since = entries.reduce((oldest, entry) => (entry.since < oldest ? entry.since : oldest), first.since)
  const reason = first.reason.slice(0, REASON_LENGTH)
  if (entries.length === 1) return { ...first, reason }
  const more = `combines ${entries.length} kill switches of ${source.slice(0, REASON_LENGTH)}, because a gateway cannot hold so many single kill switches`
  return { scope: scopeOver(source, entries), source, reason: `${reason} (${more})`, since }
}

/**
 * Returns the widest scope that may replace the scopes of these kill switches. Kill switches of users with rights in
 * one namespace (source `dashboard:NAMESPACE`) must not affect other namespaces.
 */
function scopeOver(source: string, entries: readonly KillEntry[]): string {
  const widest = widestScope(source)
  if (widest !== 'all') return widest
  const namespaces = new Set(entries.map(({ scope }) => namespaceOfScope(scope)))
  const [namespace = null] = namespaces
  const isLimited = namespaces.size === 1 && namespace !== null && source.endsWith(`:${namespace}`)
  return isLimited ? `namespace:${namespace}` : 'all'
}

function bytesOf(entries: readonly KillEntry[]): number {
  return entries.reduce((sum, entry) => sum + new TextEncoder().encode(JSON.stringify(entry)).length + 1, 0)
}
