import { afterEach, describe, expect, it } from 'vitest'
import { IDLE_GAUGES } from '../../../scripts/metrics/idle-gauges.ts'
import { createMetrics } from '../../../sidecar/metrics.ts'
import { createWatchdog, type Watchdog } from '../../../sidecar/process/watchdog.ts'

let watchdog: Watchdog | null = null
afterEach(() => watchdog?.close())

/** A clock that only the test moves. */
function setUp(thresholdMs = 200) {
  const clock = { ms: 1_000 }
  const lines: object[] = []
  const blocked: string[] = []
  const made = createWatchdog({
    config: { eventLoopBlockedMs: thresholdMs },
    clock: { monotonicMs: () => clock.ms },
    onBlocked: (stage) => blocked.push(stage),
    log: { warn: (fields) => lines.push(fields) },
  })
  watchdog = made
  const { stages } = made
  const run = (stage: string, ms: number) => {
    stages.enter(stage)
    clock.ms += ms
    stages.leave()
  }
  return { clock, run, lines, blocked, check: () => watchdog?.check() }
}

describe('the watchdog', () => {
  it('names the stage that blocked the event loop, although others ran before and after it', () => {
    const { run, lines, blocked, check } = setUp()
    run('decide', 3)
    run('classify', 450)
    run('forward', 2)
    check()
    expect(blocked).toEqual(['classify'])
    expect(lines).toEqual([{ stage: 'classify', blocked_ms: 355 }])
  })

  it('reports other when no stage ran for half of the time', () => {
    const { clock, run, blocked, check } = setUp()
    run('classify', 90)
    clock.ms += 400
    check()
    expect(blocked).toEqual(['other'])
  })

  it('reports nothing while turns are short, and each block once', () => {
    const { clock, run, blocked, check } = setUp()
    for (let n = 0; n < 50; n++) {
      run('classify', 60)
      check()
    }
    expect(blocked).toEqual([])
    run('hold', 1_000)
    check()
    clock.ms += 100
    check()
    expect(blocked).toEqual(['hold'])
  })

  it('keeps the threshold that it is given', () => {
    const { run, blocked, check } = setUp(1_000)
    run('classify', 1_400)
    check()
    expect(blocked).toEqual([])
  })

  it('is counted by stage in the metrics', () => {
    const metrics = createMetrics()
    metrics.loopBlocked('classify')
    metrics.loopBlocked('classify')
    expect(metrics.scrape(IDLE_GAUGES)).toContain('svc_event_loop_blocked_total{stage="classify"} 2')
  })
})
