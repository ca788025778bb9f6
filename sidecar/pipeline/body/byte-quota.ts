import type { ExchangeSignal } from '../exchange-abort.ts'
import { abortReason } from '../exchange-abort.ts'

/** A limited number of bytes that all agents share. */
export type ByteQuota = {
  /**
   * Counts bytes for an agent. Rejects when the quota stays used up for `waitMs` milliseconds, and when the signal
   * fires. A rejected call counts nothing.
   */
  take(request: ByteRequest): Promise<void>
  releaseBytes(agent: string, bytes: number): void
}

export type ByteRequest = {
  readonly agent: string
  readonly bytes: number
  readonly signal: ExchangeSignal
}

export type ByteQuotaOptions = {
  readonly totalBytes: number
  readonly waitMs: number
  /** Creates the error for a request that waited for `waitMs` milliseconds. */
  readonly full: (bytes: number) => Error
}

/**
 * Fraction of the quota that may be in use when an agent that already holds bytes gets more. The rest is reserved for
 * agents that hold none, because held bytes may stay for minutes.
 */
const SHARE_OF_ONE = 0.75

type Waiter = Pick<ByteRequest, 'agent' | 'bytes'> & { readonly admit: () => void }

/**
 * Creates the quota. Requests beyond the quota wait. Freed bytes go to the waiting agent that uses least; among equals
 * the first request is served.
 */
export function createByteQuota({ totalBytes, waitMs, full }: ByteQuotaOptions): ByteQuota {
  const heldBy = new Map<string, number>()
  const waiting = new Set<Waiter>()
  let taken = 0

  function change(agent: string, bytes: number): void {
    taken += bytes
    const now = (heldBy.get(agent) ?? 0) + bytes
    if (now > 0) heldBy.set(agent, now)
    else heldBy.delete(agent)
  }

  function serve(): void {
    for (let next = first(waiting, heldBy); next !== null; next = first(waiting, heldBy)) {
      const most = heldBy.has(next.agent) ? totalBytes * SHARE_OF_ONE : totalBytes
      if (taken + next.bytes > most) return
      change(next.agent, next.bytes)
      next.admit()
    }
  }

  function wait({ agent, bytes, signal }: ByteRequest): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      waiting.delete(waiter)
    }
    const fail = (error: Error): void => {
      leave()
      reject(error)
      // Smaller requests may have waited behind the failed request.
      serve()
    }
    const onAbort = (): void => fail(abortReason(signal))
    const waiter: Waiter = {
      agent,
      bytes,
      admit() {
        leave()
        resolve()
      },
    }
    const timer = setTimeout(() => fail(full(bytes)), waitMs)
    signal.addEventListener('abort', onAbort)
    waiting.add(waiter)
    serve()
    return promise
  }

  return {
    take: (request) => (request.signal.aborted ? Promise.reject(abortReason(request.signal)) : wait(request)),
    releaseBytes(agent, bytes) {
      change(agent, -bytes)
      serve()
    },
  }
}

function first(waiting: ReadonlySet<Waiter>, heldBy: ReadonlyMap<string, number>): Waiter | null {
  let least: Waiter | null = null
  let leastHeld = Number.POSITIVE_INFINITY
  for (const waiter of waiting) {
    const held = heldBy.get(waiter.agent) ?? 0
    if (held < leastHeld) {
      least = waiter
      leastHeld = held
    }
  }
  return least
}
