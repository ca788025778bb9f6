import type { Clock } from '../../core/state/clock.ts'
import type { GatewayConfig } from '../config.ts'
import { createStageClock, type StageClock } from '../pipeline/stage-runner.ts'
import type { Log } from './log.ts'

export type WatchdogDeps = {
  /** Threshold in milliseconds of a blocked event loop. */
  readonly config: Pick<GatewayConfig, 'eventLoopBlockedMs'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Counts one report of a blocked event loop. `stage` is the name of a pipeline stage, or `other`. */
  readonly onBlocked: (stage: string) => void
  readonly log: Pick<Log, 'warn'>
}

export type Watchdog = {
  /** Stage clock that the pipeline updates. */
  readonly stages: StageClock
  /** Checks the event loop once. A timer calls this method. */
  check(): void
  close(): void
}

/**
 * Reports a blocked event loop, during which no request is served and no kill switch is applied. A blocked loop runs no
 * timers, so the report follows after the block. The report names the stage that ran for at least half of the time, or
 * `other`: other code, garbage collection, or a machine without spare CPU.
 */
export function createWatchdog({ config, clock, onBlocked, log }: WatchdogDeps): Watchdog {
  const stages = createStageClock(clock.monotonicMs)
  const thresholdMs = config.eventLoopBlockedMs
  const everyMs = Math.max(10, thresholdMs / 2)
  let due = clock.monotonicMs() + everyMs

  function check(): void {
    const now = clock.monotonicMs()
    const lateMs = now - due
    due = now + everyMs
    const longest = stages.takeLongest()
    if (lateMs < thresholdMs) return
    const stage = longest !== null && longest.ms >= lateMs / 2 ? longest.stage : 'other'
    onBlocked(stage)
    log.warn({ stage, blocked_ms: Math.round(lateMs) }, 'event loop blocked')
  }

  const timer = setInterval(check, everyMs)
  timer.unref()
  return { stages, check, close: () => clearInterval(timer) }
}
