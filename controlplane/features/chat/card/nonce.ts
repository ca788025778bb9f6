import type { Query } from '../../../db/query.ts'

/**
 * Marks the nonce of a card as used. Returns true for only one answer per nonce. Must be called in the transaction of
 * this answer.
 */
export async function spendNonce(q: Query, approvalId: string, nonceSha256: Buffer): Promise<boolean> {
  const { rowCount } = await q.query(
    'update chat_messages set nonce_sha256 = null where approval_id = $1 and nonce_sha256 = $2',
    [approvalId, nonceSha256],
  )
  return rowCount === 1
}

/** Invalidates the card of an approval that changed. The card accepts no answers until its message is updated. */
export async function outdateCard(q: Query, approvalId: string): Promise<void> {
  await q.query('update chat_messages set nonce_sha256 = null where approval_id = $1', [approvalId])
}
