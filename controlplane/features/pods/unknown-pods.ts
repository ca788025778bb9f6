import type { Logger } from 'pino'
import { ChaperoneError } from '../../../core/errors.ts'
import type { PodRef } from '../../../core/wire/operator/pods.ts'
import type { Query } from '../../db/query.ts'
import type { ReviewedPod } from '../authentication/cluster/token-review.ts'
import { noteUnknownPod } from './store.ts'

/** Tracks pods that present a valid token before the operator has reported them. */
export type UnknownPods = {
  /** Returns the error for a pod: `not_ready` for 30 s after its first token on any replica, then `forbidden`. */
  refusalOf(pod: ReviewedPod): Promise<ChaperoneError>
  reported(podUid: string): void
  /** Returns the pods that were refused with `forbidden` within the last minute. */
  refused(): readonly PodRef[]
}

export type UnknownPodsDeps = {
  readonly db: Query
  readonly log: Pick<Logger, 'warn'>
  readonly nowMs: () => number
}

/** Maximum delay in seconds between the start of a pod and the operator's report. */
const WAIT_S = 30
const RETRY_AFTER_S = 5
const REFUSED_TTL_MS = 60_000
const MAX_REFUSED = 1_000

export function createUnknownPods({ db, log, nowMs }: UnknownPodsDeps): UnknownPods {
  const refused = new Map<string, PodRef & { readonly untilMs: number }>()
  return {
    async refusalOf({ uid: podUid, namespace, name }) {
      const who = `Pod ${namespace}/${name}`
      if ((await noteUnknownPod(db, podUid)) < WAIT_S) {
        const detail = `The operator has not reported ${who} yet. Try again in a moment.`
        return new ChaperoneError('not_ready', { detail, retryAfterS: RETRY_AFTER_S })
      }
      if (refused.size >= MAX_REFUSED) refused.clear()
      if (!refused.has(podUid))
        log.warn(
          { podUid, namespace, name },
          'pod refused, because the operator did not report it as injected; create it again while the operator runs',
        )
      refused.set(podUid, { podUid, namespace, name, untilMs: nowMs() + REFUSED_TTL_MS })
      return new ChaperoneError('forbidden', {
        detail: `${who} is not reported by the operator as injected. Check that the operator runs, and create the pod again so that the injector adds the sidecar.`,
      })
    },
    reported: (podUid) => void refused.delete(podUid),
    refused() {
      for (const [podUid, { untilMs }] of refused) if (untilMs <= nowMs()) refused.delete(podUid)
      return [...refused.values()].map(({ untilMs: _untilMs, ...pod }) => pod)
    },
  }
}
