import { canonicalJson } from '../../../../core/action/spec.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { sha256 } from '../../../../runtime/sha256.ts'
import type { Query } from '../../../db/query.ts'
import { type IdempotencyKey, putIdempotencyKey, takeIdempotencyKey } from './idempotency-store.ts'

/** A request with an `Idempotency-Key` and the SHA-256 of its body as canonical JSON. */
export type IdempotentRequest = IdempotencyKey & { readonly bodySha256: Buffer }

export function idempotentRequest(key: IdempotencyKey, body: unknown): IdempotentRequest {
  return { ...key, bodySha256: sha256(canonicalJson(body)) }
}

/**
 * Runs `work` once per idempotency key, in the caller's transaction. A repeated request gets the stored reply.
 * Concurrent requests with one key run one after the other. Throws `conflict` when the key was used with another body.
 */
export async function once<R>(q: Query, request: IdempotentRequest, work: () => Promise<R>): Promise<R> {
  const known = await takeIdempotencyKey(q, request)
  if (known !== undefined) {
    if (known.bodySha256.equals(request.bodySha256)) return JSON.parse(known.reply) as R
    throw new ChaperoneError('conflict', {
      error: 'Idempotency-Key was used with another body',
      detail:
        'This Idempotency-Key was used with another body within 24 hours. Use a new key for a new request.',
    })
  }
  const reply = await work()
  // The reply is stored as text: `jsonb` would reorder the keys, and a repeated reply must be byte-identical.
  await putIdempotencyKey(q, request, { bodySha256: request.bodySha256, reply: JSON.stringify(reply) })
  return reply
}
