import { concernsGateway } from '../../../core/decision/kill-switch/kill-reach.ts'
import { matchKill, unionEffective } from '../../../core/decision/kill-switch/kill-switch.ts'
import { isEarlier } from '../../../core/state/state-order.ts'
import type { KillAnnouncement, KillEntry, StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { StoredKills } from '../../features/kill-switch/store.ts'
import { sha256Hex } from '../sections/signature.ts'

/** Kill state of one replica: what the database holds, and what was announced but is not stored yet. */
export type KillState = {
  /** The stored state as it was read last; null before that. */
  stored(): StoredKills | null
  /** Where the stored state stands; null before the first one. */
  order(): StateOrder | null
  /** The union, without repetitions of a scope by one source. */
  effective(): readonly KillEntry[]
  announced(): readonly KillAnnouncement[]
  /** Ids of the announcements that were stored or retracted last. */
  settled(): readonly string[]
  /** In force from now on, whatever the database does. */
  announce(announcement: KillAnnouncement): void
  /** Stored, or found settled by another replica: the next `begin`/`take` pair takes it over. */
  settle(id: string): void
  /** Discards these announcements, known or still on their way: they were lifted before they were stored. */
  retract(ids: readonly string[]): void
  /** False once it was stored or retracted: then there is nothing left to store. */
  isAnnounced(id: string): boolean
  isSettled(id: string): boolean
  /**
   * To be called before the database is read, so that an earlier answer cannot lift a later stop. The result takes the
   * answer; true when it changed what gateways are sent.
   */
  begin(): (stored: StoredKills) => boolean
}

/** Ids that every message repeats. Gateways that missed them report theirs and are sent them once more. */
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
        // Two reads may overtake each other when connections change.
        if (stored !== null && isEarlier(read.order, stored.order)) return false
        const before = JSON.stringify([stored?.order, effective(), settled])
        stored = read
        for (const id of done) remove(id)
        return JSON.stringify([stored.order, effective(), settled]) !== before
      }
    },
  }
}

/** The entries that one gateway is sent: a stop in a Gateway manifest concerns that gateway only. */
export function entriesFor(entries: readonly KillEntry[], gatewayName: string): KillEntry[] {
  return entries.filter(({ source }) => concernsGateway(source, gatewayName))
}

/**
 * A name for a state of stops as one gateway is sent it, the same on every replica that has read it. A kill switch that was
 * lifted and set again has another `since`: an acknowledgement of the earlier one is none of the later one.
 */
export function killStateOf(entries: readonly KillEntry[]): string {
  const parts = entries.map(({ scope, source, reason, since }) =>
    JSON.stringify([scope, source, reason, since]),
  )
  return sha256Hex(parts.sort().join('\n'))
}

/** Whether a stop covers the whole gateway (and not only an agent or a connector). */
export function stopsGateway(entry: KillEntry, gatewayName: string): boolean {
  return matchKill([entry], { gateway: gatewayName, agent: null, agentId: null, connectors: [] }) !== null
}
