import type { ClientRequest } from 'node:http'

/**
 * When a call has taken too long. The wait for one of the few connections is the work of this process, not of the
 * control plane: it has a bound of its own, and the time of the call begins when it has a connection.
 */
export type CallDeadline = {
  /** Fires with the error that says what was waited for. */
  readonly signal: AbortSignal
  /** The call is about to wait for its connection. */
  watch(request: ClientRequest): void
  /** Ends the call now. */
  cut(why: Error): void
  end(): void
}

export function createCallDeadline(timeoutMs: number, maxWaitMs: number): CallDeadline {
  const controller = new AbortController()
  const after = (ms: number, why: string): NodeJS.Timeout =>
    setTimeout(() => controller.abort(new DOMException(why, 'TimeoutError')), ms).unref()
  let timer = after(
    maxWaitMs,
    `no connection to the control plane was free within ${maxWaitMs / 1_000} s: too many calls wait for it`,
  )
  return {
    signal: controller.signal,
    watch(request) {
      request.once('socket', () => {
        clearTimeout(timer)
        timer = after(timeoutMs, `the control plane did not answer within ${timeoutMs / 1_000} s`)
      })
    },
    cut: (why) => controller.abort(why),
    end: () => clearTimeout(timer),
  }
}
