import type { Clock } from '../../core/state/clock.ts'
import type { GatewayConfig } from '../config.ts'
import { createStageClock, type StageClock } from '../pipeline/stage-clock.ts'
import type { Log } from './log.ts'

export type WatchdogDeps = {
  /** A turn of the event loop that takes longer than this is reported. */
  readonly config: Pick<GatewayConfig, 'eventLoopBlockedMs'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Counts one report. `stage` is the name of a pipeline stage, or `other`. */
  readonly onBlocked: (stage: string) => void
  readonly log: Pick<Log, 'warn'>
}

export type Watchdog = {
  /** Where the pipeline enters and leaves its stages. */
  readonly stages: StageClock
  /** Looks once; a timer calls it. */
  look(): void
  close(): void
}

/**
 * Reports when the event loop was blocked: nothing else, the kill switch included, was served meanwhile. A blocked loop
 * runs no timer, so that the report comes behind it. Where no stage of the pipeline ran for at least half of that time the
 * stage is `other`: other code of the process, garbage collection, or a machine that gave it no time.
 */
export function createWatchdog({ config, clock, onBlocked, log }: WatchdogDeps): Watchdog {
  const stages = createStageClock(clock.monotonicMs)
  const thresholdMs = config.eventLoopBlockedMs
  const everyMs = Math.max(10, thresholdMs / 2)
  let due = clock.monotonicMs() + everyMs

  function look(): void {
    const now = clock.monotonicMs()
    const lateMs = now - due
    due = now + everyMs
    const longest = stages.takeLongest()
    if (lateMs < thresholdMs) return
    const stage = longest !== null && longest.ms >= lateMs / 2 ? longest.stage : 'other'
    onBlocked(stage)
    log.warn({ stage, blocked_ms: Math.round(lateMs) }, 'event loop blocked')
  }

  const timer = setInterval(look, everyMs)
  timer.unref()
  return { stages, look, close: () => clearInterval(timer) }
}
