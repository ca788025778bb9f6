import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import type { Query } from '../../db/query.ts'
import { readKillSwitches } from './store.ts'

/** Lists the latched kill switches, oldest first. */
export async function listKillSwitches(q: Query): Promise<readonly KillEntry[]> {
  return (await readKillSwitches(q)).entries
}
