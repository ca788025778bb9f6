import type { ClientRequest } from 'node:http'

/**
 * Deadline of a call to the control plane. The time limit of the call starts once the call has a connection. The wait
 * for a free connection has a separate limit, because other calls of this process cause that wait, not the control
 * plane.
 */
export type CallDeadline = {
  /** Signal of the call. The reason of its abort is an error that names the exceeded limit. */
  readonly signal: AbortSignal
  /** Starts the deadline. Must be called before the request waits for a connection. */
  watch(request: ClientRequest): void
  /** Aborts the call immediately. */
  cut(why: Error): void
  end(): void
}

export function createCallDeadline(timeoutMs: number, maxWaitMs: number): CallDeadline {
  const controller = new AbortController()
  const after = (ms: number, why: string): NodeJS.Timeout =>
    setTimeout(() => controller.abort(new DOMException(why, 'TimeoutError')), ms).unref()
  let timer = after(
    maxWaitMs,
    `no connection to the control plane became available within ${maxWaitMs / 1_000} s, because too many calls are pending`,
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
