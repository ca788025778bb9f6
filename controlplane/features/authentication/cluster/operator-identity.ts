import { sha256 } from '../../../crypto/tokens.ts'
import { tokenTimes } from '../../tokens/times.ts'
import type { ReviewedTokens } from './reviewed-tokens.ts'

/** `namespace/name` of a ServiceAccount. */
export type OperatorAccount = { readonly namespace: string; readonly name: string }

/**
 * Whether the cluster vouches for this token as one of a pod of the operator. Rejects with `not_ready` when the cluster
 * does not answer. `isUrgent`: answers within `URGENT_MS`, if need be after the last review of the token.
 */
export type IdentifyOperator = (token: string, address: string, isUrgent?: boolean) => Promise<boolean>

/** The token of a deleted pod of the operator is accepted for so long at most. */
const MAX_AGE_MS = 60_000
/** While the API server does not answer, the last review counts for so long, because a kill switch must not wait for it. */
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
    const presented = { token, hash: sha256(token).toString('hex'), expiresAtMs, address }
    const { subject: pod } = await tokens.of(presented, {
      maxAgeMs: MAX_AGE_MS,
      ...(isUrgent ? { urgentMaxAgeMs: URGENT_MAX_AGE_MS } : {}),
    })
    return pod?.namespace === account.namespace && pod.serviceAccount === account.name
  }
}
