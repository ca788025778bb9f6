import { matchKill, unionEffective } from '../../core/decision/kill-switch.ts'
import type { KillEntry } from '../../core/wire/kill.ts'
import { sha256Hex } from './signature.ts'

/** What is stopped: what the database says, and what was announced but is not stored yet. */
export type KillBoard = {
  /** The union, without repetitions of a scope by one source. */
  effective(): readonly KillEntry[]
  /** In force from now on, whatever the database does. */
  announce(entry: KillEntry): void
  /** The entry is stored now; the next `begin`/`store` pair takes it over. */
  settle(entry: KillEntry): void
  /** Forgets what was announced for this scope, by one source or (null) by all: it was lifted before it was stored. */
  retract(scope: string, source: string | null): void
  /** False once it was stored or retracted: then there is nothing left to store. */
  isAnnounced(entry: KillEntry): boolean
  /** To be called before the database is read, so that an older answer cannot lift a newer stop. */
  begin(): (stored: readonly KillEntry[]) => boolean
}

export function createKillBoard(): KillBoard {
  let stored: readonly KillEntry[] = []
  const announced = new Map<string, { entry: KillEntry; isStored: boolean }>()
  const effective = () => unionEffective([...stored, ...[...announced.values()].map((known) => known.entry)])
  return {
    effective,
    announce(entry) {
      announced.set(keyOf(entry), { entry, isStored: false })
    },
    settle(entry) {
      const known = announced.get(keyOf(entry))
      if (known !== undefined) known.isStored = true
    },
    retract(scope, source) {
      for (const [key, { entry }] of announced) {
        if (entry.scope === scope && (source === null || entry.source === source)) announced.delete(key)
      }
    },
    isAnnounced: (entry) => announced.get(keyOf(entry))?.entry === entry,
    begin() {
      const settled = [...announced].filter(([, { isStored }]) => isStored)
      return (entries) => {
        const before = JSON.stringify(effective())
        stored = entries
        for (const [key, value] of settled) if (announced.get(key) === value) announced.delete(key)
        return JSON.stringify(effective()) !== before
      }
    },
  }
}

/** The entries that one gateway is sent: a stop in a Gateway manifest is that gateway's own affair. */
export function entriesFor(entries: readonly KillEntry[], gatewayName: string): KillEntry[] {
  const own = `manifest:${gatewayName}`
  return entries.filter((entry) => !entry.source.startsWith('manifest:') || entry.source === own)
}

/** A name for a state of stops as one gateway is sent it: the same on every replica, stored or only announced. */
export function killStateOf(entries: readonly KillEntry[]): string {
  const parts = entries.map(({ scope, source, reason }) => JSON.stringify([scope, source, reason]))
  return sha256Hex(parts.sort().join('\n'))
}

/** Whether a stop covers the whole gateway (and not only an agent or a connector). */
export function stopsGateway(entry: KillEntry, gatewayName: string): boolean {
  return matchKill([entry], { gateway: gatewayName, agent: null, agentId: null, connectors: [] }) !== null
}

function keyOf(entry: KillEntry): string {
  return `${entry.source}\n${entry.scope}`
}
