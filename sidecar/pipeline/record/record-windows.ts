import { createRefusalWindows, type RefusalWindows } from '../../../core/state/refusal-windows.ts'

/** Reason of a refusal for a host that no connector owns. */
export const UNOWNED = 'unknown_host'
/** Time in milliseconds for which one aggregate record counts refusals of hosts that no connector owns. */
const UNOWNED_WINDOW_MS = 3_600_000

export type RecordWindowsDeps<T> = Parameters<typeof createRefusalWindows<T>>[0] & {
  readonly monotonicMs: () => number
}

/**
 * Creates the windows in which refusals are counted: a minute for most refusals, an hour for hosts that no connector
 * owns. Within the hour, the first refusal of each host has its own record, and one aggregate record counts the others,
 * because agent programs try the same telemetry hosts dozens of times in each session. A timer closes the windows, with
 * or without further requests.
 */
export function createRecordWindows<T>(
  deps: RecordWindowsDeps<T>,
): Pick<RefusalWindows<T>, 'admit' | 'close'> {
  const { monotonicMs } = deps
  const judged = createRefusalWindows<T>(deps)
  const unowned = createRefusalWindows<T>({
    ...deps,
    windowMs: UNOWNED_WINDOW_MS,
    whole: 0,
    // The records of both windows count against the limit of records in a minute.
    claim: judged.take,
    open(agent) {
      judged.take(agent, monotonicMs(), true)
      return deps.open(agent)
    },
  })
  let timer: NodeJS.Timeout | undefined
  let timerEndMs = Number.POSITIVE_INFINITY

  function schedule(): void {
    const ends = [judged.nextEndMs, unowned.nextEndMs].filter((end) => end !== null)
    const end = Math.min(...ends)
    if (end >= timerEndMs) return
    clearTimeout(timer)
    timerEndMs = end
    timer = setTimeout(expire, Math.max(1, Math.ceil(end - monotonicMs()))).unref()
  }

  function expire(): void {
    timerEndMs = Number.POSITIVE_INFINITY
    for (const windows of [judged, unowned]) windows.expire(monotonicMs())
    schedule()
  }

  return {
    admit(agent, refusal, at) {
      const row = (refusal.reason === UNOWNED ? unowned : judged).admit(agent, refusal, at)
      schedule()
      return row
    },
    close() {
      clearTimeout(timer)
      for (const windows of [judged, unowned]) windows.close()
    },
  }
}
