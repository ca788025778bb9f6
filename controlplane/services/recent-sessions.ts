import type { Db } from '../store/query.ts'
import { type SessionUser, useSessions } from '../store/sessions.ts'
import { URGENT_MS, unlessLate } from '../urgent.ts'

export type FoundSessions = {
  readonly rows: readonly SessionUser[]
  /** False when the database did not answer: this is what it said last, and a session may have ended since. */
  readonly isChecked: boolean
}

export type RecentSessions = {
  /** The sessions in force among these. Rejects when the database cannot be asked. */
  read(idHashes: readonly Buffer[]): Promise<FoundSessions>
  /** The same, but answers from memory, where it has some, when the database does not answer within a second. */
  readSoon(idHashes: readonly Buffer[]): Promise<FoundSessions>
}

/** How long a session counts without being checked again. */
const MEMORY_MS = 15 * 60_000
const MAX_REMEMBERED = 1_000

/** Remembers the sessions that this replica saw lately, so that a kill switch need not wait for the database. */
export function createRecentSessions(
  db: Db,
  { nowMs, patienceMs = URGENT_MS }: { readonly nowMs: () => number; readonly patienceMs?: number },
): RecentSessions {
  const recent = new Map<string, { readonly row: SessionUser; readonly atMs: number }>()

  async function read(idHashes: readonly Buffer[]): Promise<FoundSessions> {
    const rows = await useSessions(db, idHashes)
    for (const hash of idHashes) recent.delete(hash.toString('hex'))
    for (const row of rows) recent.set(row.idHash.toString('hex'), { row, atMs: nowMs() })
    for (const key of recent.keys()) {
      if (recent.size <= MAX_REMEMBERED) break
      recent.delete(key)
    }
    return { rows, isChecked: true }
  }

  function remembered(idHashes: readonly Buffer[]): FoundSessions {
    const found = idHashes.flatMap((hash) => recent.get(hash.toString('hex')) ?? [])
    const rows = found.filter(({ atMs }) => nowMs() - atMs <= MEMORY_MS).map(({ row }) => row)
    return { rows, isChecked: false }
  }

  return {
    read,
    async readSoon(idHashes) {
      const reading = read(idHashes)
      const answer = await unlessLate(reading, patienceMs)
      if (answer !== null) return answer
      const known = remembered(idHashes)
      return known.rows.length > 0 ? known : reading
    },
  }
}
