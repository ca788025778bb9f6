import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'

/** Webhook address, sealed. Rows of versions that did not seal addresses have a string in plain text. */
export type StoredWebhook = Sealed | string

const BATCH = 500

/** Lists and locks addresses in plaintext, at most 500. Skips rows that another replica is sealing. */
export async function listUnsealedWebhooks(
  q: Query,
): Promise<readonly { readonly id: string; readonly url: string }[]> {
  const { rows } = await q.query<{ id: string; url: string }>(
    `select id, webhook_url as url from action_requests where webhook_url is not null
     order by id limit ${BATCH} for update skip locked`,
    [],
  )
  return rows
}

export async function sealWebhooks(
  q: Query,
  list: readonly { readonly id: string; readonly sealed: Sealed }[],
): Promise<void> {
  if (list.length === 0) return
  await q.query(
    `update action_requests a set webhook_sealed = e->'sealed', webhook_url = null
     from jsonb_array_elements($1::jsonb) as e where a.id = e->>'id'`,
    [JSON.stringify(list)],
  )
}
