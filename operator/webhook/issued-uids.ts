import { randomInt } from 'node:crypto'
import { PROXY_UIDS } from '../../core/capture/pod-contract.ts'

/**
 * Time in milliseconds for which an issued uid is kept. The API server can call the webhook again within one request of
 * at most 30 s (reinvocation).
 */
const KEPT_MS = 30_000

export type IssuedUids = {
  fresh(): number
  /** Reports whether the uid was issued recently, which means that the pod is reviewed again. */
  isIssued(uid: number): boolean
}

/**
 * Tracks the proxy uids that this process issued. A pod with any other uid gets a new one: an image can be built to run
 * as any uid, so its author must not choose the uid of the proxy.
 */
export function createIssuedUids(nowMs: () => number): IssuedUids {
  const issued = new Map<number, number>()
  return {
    fresh() {
      const now = nowMs()
      // The map iterates in the order of issue, oldest first.
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
