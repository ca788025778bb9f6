import { TOKEN_LIFE_S } from '../../../../core/token.ts'
import type { Query } from '../../../db/query.ts'

export type NonceUse = 'verify' | 'execute' | 'cancel'
/**
 * One use of a nonce. `use` is the id of the use. A repetition with the same id also has the outcome `spent`, because
 * the caller may not have received the first outcome.
 */
export type Spending = {
  readonly jti: string
  readonly actId: string
  readonly usedBy: NonceUse
  readonly use?: string
}
/**
 * Outcome of the use of a nonce. `unknown`: the nonce does not exist or belongs to another action. Nonces are deleted
 * only long after their expiry.
 */
export type Spent = 'spent' | 'used' | 'expired' | 'unknown'

/**
 * Inserts the nonce of an action that was approved after a hold. An action with an earlier token keeps its nonce, so
 * the earlier and the new token together are valid for one use.
 */
export async function insertNonce(
  q: Query,
  row: { readonly jti: string; readonly actId: string; readonly kid: string },
): Promise<void> {
  await q.query(
    `insert into nonces (jti, act_id, kid, issued_at, expires_at)
     values ($1, $2, $3, date_trunc('second', statement_timestamp()),
       date_trunc('second', statement_timestamp()) + interval '${TOKEN_LIFE_S} seconds')
     on conflict (act_id) do update set kid = excluded.kid, issued_at = excluded.issued_at,
       expires_at = excluded.expires_at where nonces.used_at is null`,
    [row.jti, row.actId, row.kid],
  )
}

/**
 * Maximum number of attempts to use a nonce. An attempt is repeated when another transaction released the nonce
 * between the two statements of the attempt.
 */
const MAX_TRIES = 3

/**
 * Spends nonces and returns the outcome of each. A nonce is spent at most once. One conditional update decides by the
 * clock of the database; a second query reads the state of nonces that the update did not match. Both statements lock
 * rows in the same order, so deadlocks between replicas are rare. In a deadlock, the database aborts one of the
 * statements without effect.
 */
export async function spendNonces(
  q: Query,
  list: readonly Spending[],
  tries = MAX_TRIES,
): Promise<ReadonlyMap<string, Spent>> {
  const sorted = [...list].sort((a, b) => (a.jti < b.jti ? -1 : 1))
  const taken = new Set(await takeNonces(q, sorted))
  const outcomes = new Map<string, Spent>(list.map(({ jti }) => [jti, taken.has(jti) ? 'spent' : 'unknown']))
  const left = sorted.filter(({ jti }) => !taken.has(jti))
  const free = new Set<string>()
  for (const { jti, state } of left.length === 0 ? [] : await readUnspent(q, left)) {
    if (state === 'free') free.add(jti)
    outcomes.set(jti, state === 'free' ? 'used' : state)
  }
  if (free.size === 0 || tries <= 1) return outcomes
  const again = left.filter(({ jti }) => free.has(jti))
  return new Map([...outcomes, ...(await spendNonces(q, again, tries - 1))])
}

/** State of a nonce. `free`: the nonce is neither used nor expired. */
type UnspentNonce = { readonly jti: string; readonly state: 'used' | 'expired' | 'free' }

async function readUnspent(q: Query, list: readonly Spending[]): Promise<readonly UnspentNonce[]> {
  const { rows } = await q.query<UnspentNonce>(
    `select n.jti, case when n.used_at is not null then 'used' when n.expires_at <= clock_timestamp() then 'expired'
       else 'free' end as state
     from nonces n join unnest($1::text[], $2::text[]) as w(jti, act_id) on n.jti = w.jti and n.act_id = w.act_id`,
    [list.map((one) => one.jti), list.map((one) => one.actId)],
  )
  return rows
}

async function takeNonces(q: Query, list: readonly Spending[]): Promise<readonly string[]> {
  const { rows } = await q.query<{ jti: string }>(
    `update nonces n set used_at = coalesce(n.used_at, clock_timestamp()), used_by = w.used_by, use_id = w.use
     from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as w(jti, act_id, used_by, use)
     where n.jti = w.jti and n.act_id = w.act_id
       and (n.used_at is null and n.expires_at > clock_timestamp() or n.used_at is not null and n.use_id = w.use)
     returning n.jti`,
    [
      list.map((one) => one.jti),
      list.map((one) => one.actId),
      list.map((one) => one.usedBy),
      list.map((one) => one.use ?? null),
    ],
  )
  return rows.map(({ jti }) => jti)
}

/**
 * Releases a nonce that `execute` used for an action which a gateway then held. Sets the nonce to expired, so that the
 * decision token stays invalid until the approval renews the token.
 */
export async function parkNonce(q: Query, actId: string): Promise<void> {
  await q.query(
    `update nonces set used_at = null, used_by = null, use_id = null,
       expires_at = least(expires_at, clock_timestamp())
     where act_id = $1 and used_by = 'execute'`,
    [actId],
  )
}

/** Releases a nonce that `execute` used for an execution order that was not sent. */
export async function releaseNonce(q: Query, jti: string): Promise<void> {
  await q.query(
    "update nonces set used_at = null, used_by = null, use_id = null where jti = $1 and used_by = 'execute'",
    [jti],
  )
}

/**
 * Marks the unused, unexpired nonces of these actions as used, so that their tokens are invalid. Returns the ids of the
 * affected actions.
 */
export async function cancelNonces(q: Query, actIds: readonly string[]): Promise<readonly string[]> {
  if (actIds.length === 0) return []
  const { rows } = await q.query<{ actId: string }>(
    `update nonces set used_at = clock_timestamp(), used_by = 'cancel'
     where act_id = any($1::text[]) and used_at is null and expires_at > clock_timestamp() returning act_id as "actId"`,
    [actIds],
  )
  return rows.map(({ actId }) => actId)
}
