import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { Clock } from '../../../core/state/clock.ts'
import type { StatusBody } from '../../../core/wire/gateway/sync.ts'
import { type ControlPlane, createControlPlane } from '../../../sidecar/control/control-plane.ts'
import { createKillState, type KillState } from '../../../sidecar/control/kill-switch/kill-state.ts'
import { createLiveExchanges, type LiveExchanges } from '../../../sidecar/control/live-exchanges.ts'
import { NO_CANCELLATIONS } from '../../support/no-hosted-work.ts'
import { FakeControlPlane, type FakeOptions, TOKEN } from './fake-control-plane.ts'
import { createTestLog, type TestLog } from './test-log.ts'

/** A clock whose hands are moved: monotonic time is what it was plus what was added. */
export type TestClock = Clock & { advance(ms: number): void }

export function createTestClock(): TestClock {
  let added = 0
  return {
    nowMs: () => Date.now() + added,
    monotonicMs: () => performance.now() + added,
    advance(ms) {
      added += ms
    },
  }
}

export type ControlWorld = AsyncDisposable & {
  readonly fake: FakeControlPlane
  readonly control: ControlPlane
  readonly kill: KillState
  readonly live: LiveExchanges
  readonly clock: TestClock
  readonly log: TestLog
  readonly dir: string
  readonly applied: Snapshot[]
}

export async function startControlWorld(
  options: {
    fake?: FakeOptions
    token?: string
    dir?: string
    prepare?: (fake: FakeControlPlane) => void
  } = {},
): Promise<ControlWorld> {
  const fake = await FakeControlPlane.start(options.fake)
  options.prepare?.(fake)
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'chaperone-control-'))
  const log = createTestLog()
  const live = createLiveExchanges()
  const clock = createTestClock()
  const kill = createKillState({ file: join(dir, 'kill.json'), live, clock, log })
  const applied: Snapshot[] = []
  const control = createControlPlane({
    ...{ url: fake.url, token: options.token ?? TOKEN, processId: 'proc_test', kill, clock, log },
    random: Math.random,
    status: () => STATUS,
    onQuota: () => undefined,
    onSnapshot: (snapshot) => void applied.push(snapshot),
    execute: () => Promise.reject(new Error('no order is expected here')),
    cancellations: NO_CANCELLATIONS,
  })
  control.start()
  return {
    ...{ fake, control, kill, live, clock, log, dir, applied },
    async [Symbol.asyncDispose]() {
      control.close()
      control.holds.failAll(new Error('test is over'))
      await control.client.close()
      await fake.stop()
      if (options.dir === undefined) rmSync(dir, { recursive: true, force: true })
    },
  }
}

const STATUS: StatusBody = {
  url: 'http://127.0.0.1:1',
  version: '0.0.0',
  applied_version: null,
  agents: 0,
  uptime_seconds: 0,
  journal: { state: 'ok', pending: 0, bytes: 0 },
}
