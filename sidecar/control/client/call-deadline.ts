import type { ClientRequest } from 'node:http'
import type { TimeLimits } from './time-limits.ts'

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

export function createCallDeadline(timeoutMs: number, maxWaitMs: number, limits: TimeLimits): CallDeadline {
  const controller = new AbortController()
  const late = (why: string) => controller.abort(new DOMException(why, 'TimeoutError'))
  let timer = setTimeout(
    () =>
      late(
        `no connection to the control plane became available within ${maxWaitMs / 1_000} s, because too many calls are pending`,
      ),
    maxWaitMs,
  ).unref()
  return {
    signal: controller.signal,
    watch(request) {
      request.once('socket', () => {
        clearTimeout(timer)
        timer = limits
          .after(timeoutMs, (limitMs) => late(`the control plane did not answer within ${limitMs / 1_000} s`))
          .unref()
      })
    },
    cut: (why) => controller.abort(why),
    end: () => clearTimeout(timer),
  }
}
