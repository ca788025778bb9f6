import { randomInt } from 'node:crypto'
import { PROXY_UIDS } from '../../core/capture/pod-contract.ts'

/** The API server asks a second time within one request, which ends after half a minute at most. */
const KEPT_MS = 30_000

export type IssuedUids = {
  fresh(): number
  /** True for a uid that was handed out a moment ago: then a pod that names it is being looked at again. */
  isIssued(uid: number): boolean
}

/**
 * The uids of proxies that this process gave to pods. A pod that names one nobody gave it gets another: an image can be
 * built to run as any uid, so its author must not choose that of the proxy.
 */
export function createIssuedUids(nowMs: () => number): IssuedUids {
  const issued = new Map<number, number>()
  return {
    fresh() {
      const now = nowMs()
      // In the order in which they were handed out.
      for (const [uid, at] of issued) {
        if (now - at <= KEPT_MS) break
        issued.delete(uid)
      }
      const uid = randomInt(PROXY_UIDS.first, PROXY_UIDS.last + 1)
      issued.set(uid, now)
      return uid
    },
    isIssued(uid) {
      const at = issued.get(uid)
      return at !== undefined && nowMs() - at <= KEPT_MS
    },
  }
}
