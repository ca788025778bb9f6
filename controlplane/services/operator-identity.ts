import { sha256 } from '../crypto/tokens.ts'
import type { TokenReview } from './token-review.ts'

/** `namespace/name` of a ServiceAccount. */
export type OperatorAccount = { readonly namespace: string; readonly name: string }

/** Whether the cluster vouches for this token as one of a pod of the operator. Rejects with `not_ready` when it is away. */
export type IdentifyOperator = (token: string) => Promise<boolean>

/** The operator speaks every few seconds; a token of a pod that is gone is good for so long at most. */
const REMEMBER_MS = 60_000
const REMEMBER_BAD_MS = 10_000
const MAX_REMEMBERED = 1_000

export function createOperatorIdentity(
  { review, account }: { readonly review: TokenReview; readonly account: OperatorAccount },
  nowMs: () => number = () => performance.now(),
): IdentifyOperator {
  const known = new Map<string, { readonly untilMs: number; readonly isOperator: boolean }>()
  return async (token) => {
    const hash = sha256(token).toString('hex')
    const before = known.get(hash)
    if (before !== undefined && before.untilMs > nowMs()) return before.isOperator
    const pod = await review.review(token)
    const isOperator = pod?.namespace === account.namespace && pod.serviceAccount === account.name
    if (known.size >= MAX_REMEMBERED) known.clear()
    known.set(hash, { isOperator, untilMs: nowMs() + (isOperator ? REMEMBER_MS : REMEMBER_BAD_MS) })
    return isOperator
  }
}
