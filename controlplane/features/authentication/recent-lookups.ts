import { sha256Hex } from '../../../runtime/sha256.ts'
import { URGENT_MS, withinMs } from '../../urgent.ts'
import { networkOf } from '../sessions/attempts.ts'
import { SESSION_LIFE } from '../sessions/rows.ts'

/**
 * Reads from the database the principals that own the presented secrets (session ids, keys or tokens). Omits secrets
 * without an active principal. `turn`: name of a queue. Each queue is first in, first out. The queues take turns, so
 * that no queue delays the others.
 */
export type Lookup<T> = (secrets: readonly string[], turn: string) => Promise<ReadonlyMap<string, T>>

export type Answers<T> = {
  readonly found: ReadonlyMap<string, T>
  /**
   * False when the database did not answer. The results then come from the cache, and a secret may have been revoked
   * after the cache stored its principal.
   */
  readonly isChecked: boolean
}

/**
 * Resolves the principals of secrets from the database. Rejects when the database does not answer. `isUrgent`: when the
 * database does not answer within `URGENT_MS`, resolves from the cache, or rejects when the cache does not contain the
 * secrets.
 */
export type RecentAnswers<T> = {
  (
    secrets: readonly string[],
    isUrgent: boolean,
    /** IP address of the caller. Its network (address prefix) selects the queue for the query of an unknown secret. */
    address?: string,
  ): Promise<Answers<T>>
  /**
   * Caches values that were read from the database, by the SHA-256 of their secrets. Does not replace a newer cached
   * value.
   */
  remember(read: readonly Preloaded<T>[]): void
}

/** A value that was read before a request needed it. `ageMs`: time since the value was read, in milliseconds. */
export type Preloaded<T> = { readonly sha256: Uint8Array; readonly value: T; readonly ageMs: number }

export type RecentAnswersOptions = { readonly nowMs?: () => number; readonly patienceMs?: number }

/**
 * Time in milliseconds for which a cached value is accepted while the database does not answer. Equals the idle timeout
 * of a session.
 */
const MEMORY_MS = SESSION_LIFE.idleHours * 3_600_000
const MAX_REMEMBERED = 10_000

/**
 * Creates the cache of the principals of recently presented secrets (session ids, keys or tokens) on this replica. With
 * the cache, kill switches and their acknowledgements do not depend on the database. The cache contains hashes of
 * secrets and no secrets. `nowMs`: monotonic clock.
 */
export function createRecentAnswers<T>(
  lookup: Lookup<T>,
  { nowMs = () => performance.now(), patienceMs = URGENT_MS }: RecentAnswersOptions = {},
): RecentAnswers<T> {
  const recent = new Map<string, { readonly value: T; readonly atMs: number }>()

  /**
   * Returns the queue for the database query. A cached secret has a queue of its own. All other callers of one network
   * (address prefix) share a queue.
   */
  function turnOf(keys: readonly string[], address: string): string {
    const known = keys.find((key) => recent.has(key))
    return known === undefined ? `network ${networkOf(address)}` : `known ${known}`
  }

  async function read(secrets: readonly string[], address: string): Promise<Answers<T>> {
    // The time is read before the query, because the result is only as recent as the start of the query.
    const atMs = nowMs()
    const keys = secrets.map(keyOf)
    const found = await lookup(secrets, turnOf(keys, address))
    for (const [at, key] of keys.entries()) {
      recent.delete(key)
      const value = found.get(secrets[at] ?? '')
      if (value !== undefined) recent.set(key, { value, atMs })
    }
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
  return sha256Hex(secret)
}
