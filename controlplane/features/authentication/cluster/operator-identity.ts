import { sha256Hex } from '../../../../runtime/sha256.ts'
import { tokenTimes } from '../../../crypto/token-times.ts'
import type { ReviewedTokens } from './reviewed-tokens.ts'

/** Namespace and name of the operator's ServiceAccount. */
export type OperatorAccount = { readonly namespace: string; readonly name: string }

/**
 * Resolves whether the token belongs to a pod of the operator, by a TokenReview. Rejects with `not_ready` when the API
 * server does not answer. `isUrgent`: resolves within `URGENT_MS`, if necessary from the last review of the token.
 */
export type IdentifyOperator = (token: string, address: string, isUrgent?: boolean) => Promise<boolean>

/** Cache time of a review in milliseconds. The token of a deleted operator pod is accepted for at most this time. */
const MAX_AGE_MS = 60_000
/**
 * Maximum age in milliseconds of the last review that an urgent call accepts while the API server does not answer.
 * The limit exceeds `MAX_AGE_MS`, because a kill switch from the operator must not wait for the API server.
 */
const URGENT_MAX_AGE_MS = 15 * 60_000

export function createOperatorIdentity({
  tokens,
  account,
}: {
  readonly tokens: ReviewedTokens
  readonly account: OperatorAccount
}): IdentifyOperator {
  return async (token, address, isUrgent = false) => {
    const { expiresAtMs } = tokenTimes(token)
    const presented = { token, hash: sha256Hex(token), expiresAtMs, address }
    const { subject: pod } = await tokens.of(presented, {
      maxAgeMs: MAX_AGE_MS,
      ...(isUrgent ? { urgentMaxAgeMs: URGENT_MAX_AGE_MS } : {}),
    })
    return pod?.namespace === account.namespace && pod.serviceAccount === account.name
  }
}
