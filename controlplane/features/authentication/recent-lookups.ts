import { sha256 } from '../../crypto/tokens.ts'
import { URGENT_MS, withinMs } from '../../urgent.ts'
import { networkOf } from '../sessions/attempts.ts'
import { SESSION_LIFE } from '../sessions/rows.ts'

/**
 * Resolves the principals of secrets from the database. Omits secrets without an active principal. `turn`: a name in
 * the fair queue. Look-ups of one name are first in, first out; names take turns.
 */
export type Lookup<T> = (secrets: readonly string[], turn: string) => Promise<ReadonlyMap<string, T>>

export type Answers<T> = {
  readonly found: ReadonlyMap<string, T>
  /** False when the database did not answer: the results are cached, and a secret may have been revoked since. */
  readonly isChecked: boolean
}

/**
 * Reads the database. Rejects when it is unavailable. `isUrgent`: when the database does not answer within `URGENT_MS`,
 * resolves from the cache, or rejects with `not_ready` without a cached entry.
 */
export type RecentAnswers<T> = {
  (
    secrets: readonly string[],
    isUrgent: boolean,
    /** Address of the caller. */
    address?: string,
  ): Promise<Answers<T>>
  /** Caches values read from the database by the SHA-256 of their secrets. Does not replace newer entries. */
  remember(read: readonly Preloaded<T>[]): void
}

/** A value read in advance. `ageMs`: time since it was read. */
export type Preloaded<T> = { readonly sha256: Uint8Array; readonly value: T; readonly ageMs: number }

export type RecentAnswersOptions = { readonly nowMs?: () => number; readonly patienceMs?: number }

/** How long a cached value counts without a check: the idle life of a session. */
const MEMORY_MS = SESSION_LIFE.idleHours * 3_600_000
const MAX_REMEMBERED = 10_000

/**
 * Caches the principals of recent secrets on this replica, so that a kill switch and its acknowledgement do not depend
 * on the database. The cache keeps hashes, not secrets. `nowMs` is monotonic.
 */
export function createRecentAnswers<T>(
  lookup: Lookup<T>,
  { nowMs = () => performance.now(), patienceMs = URGENT_MS }: RecentAnswersOptions = {},
): RecentAnswers<T> {
  const recent = new Map<string, { readonly value: T; readonly atMs: number }>()

  /**
   * Returns the name of the look-up in the fair queue. A cached principal has its own name; all other callers share
   * that of their network.
   */
  function turnOf(secrets: readonly string[], address: string): string {
    const known = secrets.map(keyOf).find((key) => recent.has(key))
    return known === undefined ? `network ${networkOf(address)}` : `known ${known}`
  }

  async function read(secrets: readonly string[], address: string): Promise<Answers<T>> {
    // The time is read before the query, because the result is only as recent as the start of the query.
    const atMs = nowMs()
    const found = await lookup(secrets, turnOf(secrets, address))
    for (const secret of secrets) recent.delete(keyOf(secret))
    for (const [secret, value] of found) recent.set(keyOf(secret), { value, atMs })
    limit()
    return { found, isChecked: true }
  }

  function limit(): void {
    for (const key of recent.keys()) {
      if (recent.size <= MAX_REMEMBERED) break
      recent.delete(key)
    }
  }

  function remembered(secrets: readonly string[]): ReadonlyMap<string, T> {
    const found = new Map<string, T>()
    for (const secret of secrets) {
      const known = recent.get(keyOf(secret))
      if (known !== undefined && nowMs() - known.atMs <= MEMORY_MS) found.set(secret, known.value)
    }
    return found
  }

  function remember(preloaded: readonly Preloaded<T>[]): void {
    for (const { sha256: hash, value, ageMs } of preloaded) {
      const key = Buffer.from(hash).toString('hex')
      const atMs = nowMs() - ageMs
      if ((recent.get(key)?.atMs ?? Number.NEGATIVE_INFINITY) < atMs) recent.set(key, { value, atMs })
    }
    limit()
  }

  const ask = async (secrets: readonly string[], isUrgent: boolean, address = ''): Promise<Answers<T>> => {
    const reading = read(secrets, address)
    if (!isUrgent) return reading
    try {
      return await withinMs(reading, patienceMs)
    } catch (error) {
      const found = remembered(secrets)
      if (found.size > 0) return { found, isChecked: false }
      throw error
    }
  }
  return Object.assign(ask, { remember })
}

function keyOf(secret: string): string {
  return sha256(secret).toString('hex')
}
