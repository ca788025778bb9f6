import { createRefusalWindows, type RefusalWindows } from '../../../core/state/refusal-windows.ts'

/** The reason of refusals of a host that no connector owns. */
export const UNOWNED = 'unknown_host'
/** How long one record stands for all refusals of such a host. */
const UNOWNED_WINDOW_MS = 3_600_000

export type RecordWindowsDeps<T> = Parameters<typeof createRefusalWindows<T>>[0] & {
  readonly monotonicMs: () => number
}

/**
 * Windows of a minute for refusals, and of an hour for refusals of hosts that no connector owns, where the first of each
 * host has a record and one row counts the others. Ends windows on time, whether or not further requests arrive.
 */
export function createRecordWindows<T>(
  deps: RecordWindowsDeps<T>,
): Pick<RefusalWindows<T>, 'admit' | 'close'> {
  const { monotonicMs } = deps
  const judged = createRefusalWindows<T>(deps)
  const unowned = createRefusalWindows<T>({
    ...deps,
    ...{ windowMs: UNOWNED_WINDOW_MS, whole: 0 },
    // Rows of both count against the limit of the minute.
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
