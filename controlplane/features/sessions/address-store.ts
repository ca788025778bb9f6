import type { Query } from '../../db/query.ts'

/** Returns whether the account has signed in from this address before. `pair` is the SHA-256 of account and address. */
export async function isKnownAddress(q: Query, pair: Buffer): Promise<boolean> {
  const { rows } = await q.query('select 1 from sign_in_addresses where pair_sha256 = $1', [pair])
  return rows.length > 0
}

export async function rememberAddress(q: Query, pair: Buffer): Promise<void> {
  await q.query(
    `insert into sign_in_addresses (pair_sha256) values ($1)
     on conflict (pair_sha256) do update set last_at = now()`,
    [pair],
  )
}
