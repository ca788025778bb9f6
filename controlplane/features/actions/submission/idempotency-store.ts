import type { Query } from '../../../db/query.ts'

export type IdempotencyKey = { readonly orgId: string; readonly agentId: string; readonly key: string }

/**
 * Locks the idempotency key until the transaction ends. Returns the reply stored for the key within the last 24 hours.
 * Concurrent transactions with the same key wait for the lock.
 */
export async function takeIdempotencyKey(
  q: Query,
  { orgId, agentId, key }: IdempotencyKey,
): Promise<{ readonly bodySha256: Buffer; readonly reply: string } | undefined> {
  await q.query('select pg_advisory_xact_lock(hashtextextended($1, 1))', [`${orgId} ${agentId} ${key}`])
  const { rows } = await q.query<{ bodySha256: Buffer; reply: string }>(
    `select body_sha256 as "bodySha256", reply from idempotency_keys
     where org_id = $1 and agent_id = $2 and key = $3 and created_at > now() - interval '24 hours'`,
    [orgId, agentId, key],
  )
  return rows[0]
}

/**
 * Stores the reply for the idempotency key. Replaces a reply older than 24 hours. Must be called in the
 * transaction of `takeIdempotencyKey`.
 */
export async function putIdempotencyKey(
  q: Query,
  { orgId, agentId, key }: IdempotencyKey,
  stored: { readonly bodySha256: Buffer; readonly reply: string },
): Promise<void> {
  await q.query(
    `insert into idempotency_keys (org_id, agent_id, key, body_sha256, reply) values ($1, $2, $3, $4, $5)
     on conflict (org_id, agent_id, key) do update
       set body_sha256 = excluded.body_sha256, reply = excluded.reply, created_at = now()`,
    [orgId, agentId, key, stored.bodySha256, JSON.stringify(stored.reply)],
  )
}
