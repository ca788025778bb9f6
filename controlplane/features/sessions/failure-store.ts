import type { Query } from '../../db/query.ts'

/** Time after the last failed sign-in at which the count starts again from zero. */
const FORGET = "interval '1 hour'"
const LONGEST_WAIT_S = 900

/** Key under which sign-in attempts are counted. `free`: number of failed attempts that require no wait. */
export type AttemptKey = {
  readonly hash: Buffer
  readonly free: number
  /** SHA-256 of the e-mail address; null for a count that spans all accounts. */
  readonly account: Buffer | null
}

/**
 * Counts an attempt before the password is verified, so that concurrent attempts are counted too. Beyond the free
 * attempts, the wait doubles with each failure. An attempt during the wait is not counted. Returns the seconds to
 * wait; 0 lets the attempt proceed.
 */
export async function countAttempt(q: Query, key: AttemptKey): Promise<number> {
  const wait = `make_interval(secs => least(power(2, least(f.failures - $2, 20)), ${LONGEST_WAIT_S}))`
  const { rows } = await q.query(
    `insert into sign_in_failures as f (key_sha256, failures, account_sha256) values ($1, 1, $3)
     on conflict (key_sha256) do update
       set failures = case when f.last_at < now() - ${FORGET} then 1 else f.failures + 1 end, last_at = now()
       where f.failures < $2 or f.last_at + ${wait} <= now()
     returning failures`,
    [key.hash, key.free, key.account],
  )
  if (rows.length > 0) return 0
  const { rows: waiting } = await q.query<{ seconds: number }>(
    `select ceil(extract(epoch from f.last_at + ${wait} - now()))::integer as seconds
     from sign_in_failures f where key_sha256 = $1`,
    [key.hash, key.free],
  )
  return Math.max(1, waiting[0]?.seconds ?? 1)
}

export async function deleteAttempts(q: Query, hashes: readonly Buffer[]): Promise<void> {
  await q.query('delete from sign_in_failures where key_sha256 = any($1::bytea[])', [hashes])
}

/** Deletes all counts of the account. */
export async function deleteAttemptsOfAccount(q: Query, account: Buffer): Promise<void> {
  await q.query('delete from sign_in_failures where account_sha256 = $1', [account])
}

/** Subtracts one attempt from counts that several clients share. */
export async function uncountAttempts(q: Query, hashes: readonly Buffer[]): Promise<void> {
  await q.query(
    'update sign_in_failures set failures = greatest(failures - 1, 0) where key_sha256 = any($1::bytea[])',
    [hashes],
  )
}
