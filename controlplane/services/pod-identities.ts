import { ChaperoneError } from '../../core/errors.ts'
import { sha256, syncKeyOf } from '../crypto/tokens.ts'
import type { Db } from '../store/query.ts'
import { bindPod, type PodBinding, type PodClaims } from './pod-binding.ts'
import type { ReviewedPod, TokenReview } from './token-review.ts'

export type PodIdentity = PodBinding & {
  /** Signs what this sidecar is sent while it uses this token. */
  readonly syncKey: Uint8Array
}

export type PodIdentities = AsyncDisposable & {
  /**
   * Who a pod's token belongs to. `isFresh`: the cluster is asked, whatever is remembered. Undefined for a token that
   * is nobody's; throws `forbidden` for a pod that may not be what it says, `not_ready` when the cluster is away.
   */
  identify(token: string, claims: PodClaims, isFresh: boolean): Promise<PodIdentity | undefined>
}

export type PodIdentitiesDeps = { readonly db: Db; readonly orgId: string; readonly review: TokenReview }

/** A stream is opened with a review of its own; the small calls beside it live on the last one for this long. */
const REMEMBER_MS = 5 * 60_000
const REMEMBER_BAD_MS = 10_000
const MAX_REMEMBERED = 20_000

type Remembered = { readonly untilMs: number; readonly pod: ReviewedPod | null }

export function createPodIdentities(
  { db, orgId, review }: PodIdentitiesDeps,
  nowMs: () => number = () => performance.now(),
): PodIdentities {
  const reviewed = new Map<string, Remembered>()
  const bound = new Map<string, { readonly untilMs: number; readonly binding: PodBinding }>()

  async function reviewOf(token: string, hash: string, isFresh: boolean): Promise<ReviewedPod | null> {
    const known = reviewed.get(hash)
    if (known !== undefined && known.untilMs > nowMs() && !(isFresh && known.pod !== null)) return known.pod
    const pod = await review.review(token)
    if (reviewed.size >= MAX_REMEMBERED) reviewed.clear()
    reviewed.set(hash, { pod, untilMs: nowMs() + (pod === null ? REMEMBER_BAD_MS : REMEMBER_MS) })
    return pod
  }

  async function bindingOf(pod: ReviewedPod, claims: PodClaims, isFresh: boolean): Promise<PodBinding> {
    const key = JSON.stringify([pod, claims])
    const known = bound.get(key)
    if (!isFresh && known !== undefined && known.untilMs > nowMs()) return known.binding
    const binding = await db.tx((q) => bindPod(q, { orgId, pod, claims }))
    if (bound.size >= MAX_REMEMBERED) bound.clear()
    bound.set(key, { binding, untilMs: nowMs() + REMEMBER_MS })
    return binding
  }

  return {
    async identify(token, claims, isFresh) {
      const pod = await reviewOf(token, sha256(token).toString('hex'), isFresh)
      if (pod === null) return undefined
      if (pod.uid !== claims.pod) throw foreign(pod)
      return { ...(await bindingOf(pod, claims, isFresh)), syncKey: syncKeyOf(token) }
    },
    [Symbol.asyncDispose]: () => review.close(),
  }
}

function foreign(pod: ReviewedPod): ChaperoneError {
  const detail = `The token is that of pod ${pod.namespace}/${pod.name}, and another pod presents it`
  return new ChaperoneError('forbidden', { detail })
}
