import { concernsGateway } from '../../../core/decision/kill-switch/kill-reach.ts'
import { matchKill, unionEffective } from '../../../core/decision/kill-switch/kill-switch.ts'
import { isEarlier } from '../../../core/state/state-order.ts'
import type { KillAnnouncement, KillEntry, StateOrder } from '../../../core/wire/gateway/kill.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import type { StoredKills } from '../../features/kill-switch/rows.ts'

/** Kill state of one replica: the stored kill switches, and announced kill switches that are not stored yet. */
export type KillState = {
  /** Returns the stored kill state of the last read; null before the first read. */
  stored(): StoredKills | null
  /** Returns the epoch and revision of the stored kill state; null before the first read. */
  order(): StateOrder | null
  /** Returns the kill switches in force, stored or announced. A scope appears once per source. */
  effective(): readonly KillEntry[]
  announced(): readonly KillAnnouncement[]
  /** Returns the ids of the announced kill switches that were stored or retracted most recently. */
  settled(): readonly string[]
  /** Adds an announcement. The announced kill switch is in force at once, even while the database is unavailable. */
  announce(announcement: KillAnnouncement): void
  /**
   * Marks an announcement as settled, because the kill switch was stored or another replica settled the announcement.
   * The next read that begins after this call removes the announcement.
   */
  settle(id: string): void
  /**
   * Discards the announcements of kill switches that were lifted before they were stored. An announcement that
   * arrives after this call is discarded too.
   */
  retract(ids: readonly string[]): void
  /** Returns whether the announcement is pending: announced, but neither stored nor retracted. */
  isAnnounced(id: string): boolean
  isSettled(id: string): boolean
  /**
   * Begins a read. Must be called before the query, so that the result of a query cannot lift a kill switch that was
   * announced after the query. The returned function applies the read rows and returns whether the state for gateways
   * changed.
   */
  begin(): (stored: StoredKills) => boolean
}

/**
 * Maximum number of ids of settled (stored or retracted) announcements in one message. A gateway that missed an id
 * sends the announcement back to a replica, which then sends the id again.
 */
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
        // When the database connection changes, reads may complete in an order that differs from the order of their
        // starts. Therefore, a state that is earlier than the last applied state is ignored.
        if (stored !== null && isEarlier(read.order, stored.order)) return false
        const before = JSON.stringify([stored?.order, effective(), settled])
        stored = read
        for (const id of done) remove(id)
        return JSON.stringify([stored.order, effective(), settled]) !== before
      }
    },
  }
}

/**
 * Returns the kill switches for one gateway. A kill switch of a Gateway manifest concerns the gateway of this manifest
 * only.
 */
export function entriesFor(entries: readonly KillEntry[], gatewayName: string): KillEntry[] {
  return entries.filter(({ source }) => concernsGateway(source, gatewayName))
}

/**
 * Returns the name of the kill state that one gateway receives. Every replica that reads the same state computes the
 * same name. The name is a hash that covers `since`, because a kill switch that is lifted and activated again needs a
 * new acknowledgement.
 */
export function killStateOf(entries: readonly KillEntry[]): string {
  const parts = entries.map(({ scope, source, reason, since }) =>
    JSON.stringify([scope, source, reason, since]),
  )
  return sha256Hex(parts.sort().join('\n'))
}

const NOBODY = { agent: null, agentId: null, instance: null, connectors: [] }

/** Returns whether a kill switch covers the whole gateway, and not only an agent or a connector. */
export function stopsGateway(entry: KillEntry, gatewayName: string): boolean {
  return matchKill([entry], { ...NOBODY, gateway: gatewayName }) !== null
}
