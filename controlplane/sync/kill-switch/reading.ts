import { isEarlier } from '../../../core/state/state-order.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import type { Query } from '../../db/query.ts'
import { listLifted, readKillSwitches, type StoredKills } from '../../features/kill-switch/rows.ts'
import type { EpochRaiser } from '../epoch-raiser.ts'

export type KillReading = {
  readonly stored: StoredKills
  /**
   * Kill switches that the previous read returned and that the database has lost, because the database returned to an
   * earlier state.
   */
  readonly lost: readonly KillEntry[]
}

/**
 * Reads the stored kill state. When the state is earlier than the last read state, the database has lost commits,
 * through a failover to a lagging standby or the restoration of a backup. Such a state is valid only in a new epoch.
 * Rejects when no epoch can be begun.
 */
export async function readKillState(
  { db, raiseEpoch }: { readonly db: Query; readonly raiseEpoch: EpochRaiser },
  known: StoredKills | null,
): Promise<KillReading> {
  let stored = await readKillSwitches(db)
  if (known === null) return { stored, lost: [] }
  if (isEarlier(stored.order, known.order)) {
    await raiseEpoch({ kill: known.order, config: null })
    stored = await readKillSwitches(db)
  }
  if (isEarlier(stored.order, known.order))
    throw new Error(
      'the database has an earlier state of the kill switches than this replica has read before; the replica keeps the later state and reads again within 2 s',
    )
  // In a new epoch every replica searches for lost kill switches, because the replica that began the epoch may not have
  // read every kill switch of the earlier epoch.
  if (stored.order.epoch === known.order.epoch) return { stored, lost: [] }
  return { stored, lost: await lostOf(db, known.entries, stored.entries) }
}

/** Returns the lost kill switches. A kill switch is not lost if a later audit event shows that it was lifted. */
async function lostOf(
  db: Query,
  known: readonly KillEntry[],
  stored: readonly KillEntry[],
): Promise<readonly KillEntry[]> {
  const present = new Set(stored.map(keyOf))
  const missing = known.filter((entry) => !present.has(keyOf(entry)))
  if (missing.length === 0) return []
  const lifted = new Set((await listLifted(db, missing)).map(keyOf))
  return missing.filter((entry) => !lifted.has(keyOf(entry)))
}

function keyOf({ scope, source }: Pick<KillEntry, 'scope' | 'source'>): string {
  return JSON.stringify([scope, source])
}
