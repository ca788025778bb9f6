import type { Query } from '../../../db/query.ts'

const MAX_LINKS = 20

/** Inserts an owner link, which is valid for an hour and for one use. Only the newest 20 links are kept. */
export async function insertOwnerLink(q: Query, tokenSha256: Buffer): Promise<void> {
  await q.query('insert into owner_links (token_sha256) values ($1)', [tokenSha256])
  await q.query(
    `delete from owner_links where expires_at <= now()
     or token_sha256 not in (select token_sha256 from owner_links order by created_at desc limit $1)`,
    [MAX_LINKS],
  )
}

export async function isOwnerLink(q: Query, tokenSha256: Buffer): Promise<boolean> {
  const { rows } = await q.query('select 1 from owner_links where token_sha256 = $1 and expires_at > now()', [
    tokenSha256,
  ])
  return rows.length > 0
}

export async function deleteOwnerLinks(q: Query): Promise<void> {
  await q.query('delete from owner_links', [])
}
