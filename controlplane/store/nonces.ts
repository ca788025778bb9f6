import { TOKEN_LIFE_S } from '../../core/token.ts'
import type { Query } from './query.ts'

export type NonceUse = 'verify' | 'execute' | 'cancel'
export type Spending = { readonly jti: string; readonly actId: string; readonly usedBy: NonceUse }
/** `unknown`: there is no such nonce, or it is another action's; a purged one is long expired. */
export type Spent = 'spent' | 'used' | 'expired' | 'unknown'

/** Issues the token of an action that had to wait for a person. */
export async function insertNonce(
  q: Query,
  row: { readonly jti: string; readonly actId: string; readonly kid: string },
): Promise<void> {
  await q.query(
    `insert into nonces (jti, act_id, kid, issued_at, expires_at)
     values ($1, $2, $3, date_trunc('second', statement_timestamp()),
       date_trunc('second', statement_timestamp()) + interval '${TOKEN_LIFE_S} seconds')`,
    [row.jti, row.actId, row.kid],
  )
}

/**
 * Uses nonces up, each at most once ever, and says what became of each: one conditional update decides, on the
 * database's clock. Rows are locked in one order, so that two replicas with the same tokens cannot block each other.
 */
export async function spendNonces(q: Query, list: readonly Spending[]): Promise<ReadonlyMap<string, Spent>> {
  const { rows } = await q.query<{ jti: string; isSpent: boolean; isUsed: boolean }>(
    `with wanted as (
       select * from unnest($1::text[], $2::text[], $3::text[]) as w(jti, act_id, used_by)
     ), locked as (
       select n.jti, n.used_at from nonces n where n.jti = any($1::text[])
         and exists (select 1 from wanted w where w.jti = n.jti and w.act_id = n.act_id)
       order by n.jti for update
     ), spent as (
       update nonces n set used_at = clock_timestamp(), used_by = w.used_by from wanted w, locked l
       where n.jti = w.jti and l.jti = w.jti and n.act_id = w.act_id and n.used_at is null
         and n.expires_at > clock_timestamp()
       returning n.jti
     )
     select l.jti, s.jti is not null as "isSpent", l.used_at is not null as "isUsed"
     from locked l left join spent s on s.jti = l.jti`,
    [list.map((one) => one.jti), list.map((one) => one.actId), list.map((one) => one.usedBy)],
  )
  return new Map(rows.map((row) => [row.jti, row.isSpent ? 'spent' : row.isUsed ? 'used' : 'expired']))
}

/** Gives back what `execute` took for an order that never left. */
export async function releaseNonce(q: Query, jti: string): Promise<void> {
  await q.query("update nonces set used_at = null, used_by = null where jti = $1 and used_by = 'execute'", [
    jti,
  ])
}
