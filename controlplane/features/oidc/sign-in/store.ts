import type { Query } from '../../../db/query.ts'

/** Lifetime of a sign-in code in seconds. */
const CODE_S = 60
/** Seconds for which rows are kept to detect the second use of a state. Every state expires earlier. */
const KEPT_S = 3_600

export type ProviderSignIn = {
  readonly idSha256: Buffer
  readonly codeSha256: Buffer
  readonly challenge: string
  readonly userId: string
  readonly isPage: boolean
}

/** Inserts the sign-in. Returns false for a state that was used before. */
export async function insertSignIn(q: Query, row: ProviderSignIn): Promise<boolean> {
  await q.query('delete from provider_sign_ins where created_at < now() - make_interval(secs => $1)', [
    KEPT_S,
  ])
  const { rowCount } = await q.query(
    `insert into provider_sign_ins (id_sha256, code_sha256, challenge, user_id, is_page) values ($1, $2, $3, $4, $5)
     on conflict do nothing`,
    [row.idSha256, row.codeSha256, row.challenge, row.userId, row.isPage],
  )
  return rowCount === 1
}

/**
 * Deletes the code and returns its sign-in. Deletes the code even if the caller presents a wrong secret. Returns
 * undefined when the code was used, is unknown, or is older than a minute.
 */
export async function takeSignIn(
  q: Query,
  codeSha256: Buffer,
): Promise<Pick<ProviderSignIn, 'challenge' | 'userId' | 'isPage'> | undefined> {
  const { rows } = await q.query<Pick<ProviderSignIn, 'challenge' | 'userId' | 'isPage'>>(
    `update provider_sign_ins set exchanged_at = now()
     where code_sha256 = $1 and exchanged_at is null and created_at > now() - make_interval(secs => $2)
     returning challenge, user_id as "userId", is_page as "isPage"`,
    [codeSha256, CODE_S],
  )
  return rows[0]
}
