import { concernsGateway } from '../../../core/decision/kill-switch/kill-reach.ts'
import { matchKill, unionEffective } from '../../../core/decision/kill-switch/kill-switch.ts'
import { isEarlier } from '../../../core/state/state-order.ts'
import type { KillAnnouncement, KillEntry, StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { StoredKills } from '../../features/kill-switch/store.ts'
import { sha256Hex } from '../sections/signature.ts'

/** Kill state of one replica: the stored one, and announcements that are not stored yet. */
export type KillState = {
  /** Returns the stored state of the last read; null before the first one. */
  stored(): StoredKills | null
  /** Returns the order of the stored state; null before the first read. */
  order(): StateOrder | null
  /** Returns the kill switches in force, stored or announced, without duplicates of a scope by one source. */
  effective(): readonly KillEntry[]
  announced(): readonly KillAnnouncement[]
  /** Returns the ids of the announcements that were stored or retracted most recently. */
  settled(): readonly string[]
  /** Adds an announcement; it is in force at once, whatever the state of the database. */
  announce(announcement: KillAnnouncement): void
  /** Marks an announcement as stored, or as settled by another replica; the next `begin`/`take` pair removes it. */
  settle(id: string): void
  /** Discards announcements, known or in flight, that were lifted before they were stored. */
  retract(ids: readonly string[]): void
  /** Returns whether the announcement is pending: false once it was stored or retracted. */
  isAnnounced(id: string): boolean
  isSettled(id: string): boolean
  /**
   * Begins a read. Call it before the query, so that the result of an earlier query cannot lift a later kill switch.
   * The returned function takes the rows and returns whether the state for gateways changed.
   */
  begin(): (stored: StoredKills) => boolean
}

/** Maximum number of settled ids in every message. A gateway that missed one reports it and receives it once more. */
const MAX_SETTLED = 64

export function createKillState(): KillState {
  let stored: StoredKills | null = null
  const announced = new Map<string, { readonly announcement: KillAnnouncement; isStored: boolean }>()
  let settled: readonly string[] = []
  const pending = () => [...announced.values()].map(({ announcement }) => announcement)
  const effective = () => unionEffective([...(stored?.entries ?? []), ...pending().map(({ entry }) => entry)])

  function remove(id: string): void {
    announced.delete(id)
    settled = [...settled.filter((other) => other !== id), id].slice(-MAX_SETTLED)
  }

  return {
    effective,
    stored: () => stored,
    order: () => stored?.order ?? null,
    announced: pending,
    settled: () => settled,
    announce(announcement) {
      announced.set(announcement.id, { announcement, isStored: false })
    },
    settle(id) {
      const known = announced.get(id)
      if (known !== undefined) known.isStored = true
    },
    retract(ids) {
      for (const id of ids) remove(id)
    },
    isAnnounced: (id) => announced.get(id)?.isStored === false,
    isSettled: (id) => settled.includes(id),
    begin() {
      const done = [...announced].filter(([, { isStored }]) => isStored).map(([id]) => id)
      return (read) => {
        // A later read may complete first when the database connection changes, so an earlier state is ignored.
        if (stored !== null && isEarlier(read.order, stored.order)) return false
        const before = JSON.stringify([stored?.order, effective(), settled])
        stored = read
        for (const id of done) remove(id)
        return JSON.stringify([stored.order, effective(), settled]) !== before
      }
    },
  }
}

/** Returns the entries for one gateway: a kill switch of a Gateway manifest concerns that gateway only. */
export function entriesFor(entries: readonly KillEntry[], gatewayName: string): KillEntry[] {
  return entries.filter(({ source }) => concernsGateway(source, gatewayName))
}

/**
 * Returns the name of a kill state as one gateway receives it; the name is the same on every replica that read the
 * state. The name is a hash of `since` too, which differs for a kill switch that was lifted and activated again: an
 * acknowledgement of the earlier one does not count for the later one.
 */
export function killStateOf(entries: readonly KillEntry[]): string {
  const parts = entries.map(({ scope, source, reason, since }) =>
    JSON.stringify([scope, source, reason, since]),
  )
  return sha256Hex(parts.sort().join('\n'))
}

/** Returns whether the kill switch covers the whole gateway (and not only an agent or a connector). */
export function stopsGateway(entry: KillEntry, gatewayName: string): boolean {
  return matchKill([entry], { gateway: gatewayName, agent: null, agentId: null, connectors: [] }) !== null
}
