import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import type { Query } from '../../db/query.ts'
import { readKillSwitches } from './store.ts'

/** Lists the stored kill switches, oldest first. A kill switch stays in force until it is lifted. */
export async function listKillSwitches(q: Query): Promise<readonly KillEntry[]> {
  return (await readKillSwitches(q)).entries
}
