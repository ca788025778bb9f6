import { sha256 } from '../crypto/tokens.ts'
import type { ReviewedTokens } from './reviewed-tokens.ts'
import { tokenTimes } from './token-times.ts'

/** `namespace/name` of a ServiceAccount. */
export type OperatorAccount = { readonly namespace: string; readonly name: string }

/**
 * Whether the cluster vouches for this token as one of a pod of the operator. Rejects with `not_ready` when the cluster
 * does not answer.
 */
export type IdentifyOperator = (token: string, address: string) => Promise<boolean>

/** The token of a deleted pod of the operator is accepted for so long at most. */
const MAX_AGE_MS = 60_000

export function createOperatorIdentity({
  tokens,
  account,
}: {
  readonly tokens: ReviewedTokens
  readonly account: OperatorAccount
}): IdentifyOperator {
  return async (token, address) => {
    const { expiresAtMs } = tokenTimes(token)
    const presented = { token, hash: sha256(token).toString('hex'), expiresAtMs, address }
    const { subject: pod } = await tokens.of(presented, { maxAgeMs: MAX_AGE_MS })
    return pod?.namespace === account.namespace && pod.serviceAccount === account.name
  }
}
