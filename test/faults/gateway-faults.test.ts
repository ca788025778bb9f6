import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TOKEN } from '../sidecar/control/fake-control-plane.ts'
import { eventually } from '../support/eventually.ts'
import { IS_FULL, size } from '../support/proof.ts'
import { replyJson, replyNever } from '../support/recorder.ts'
import { expectLedgers } from './fault-ledger.ts'
import { type FaultWorld, startFaultWorld } from './fault-world.ts'

/** Requests that are served before a fault, and again after it. */
const SERVED = 10
const ROUNDS = size(1, 5)
const SHIFTED_CLOCK = new URL('../support/shifted-clock.ts', import.meta.url).pathname

let world: FaultWorld
beforeAll(async () => {
  world = await startFaultWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())

type Fault = {
  readonly name: string
  /** Destroys parts of the journal. */
  readonly isLossy?: boolean
  /** Waits for time limits of the product: only in the full proof. */
  readonly isSlow?: boolean
  /** Causes the fault and ends it. */
  readonly act: () => Promise<void>
}

async function restart(env?: Readonly<Record<string, string>>): Promise<void> {
  await world.stop('SIGKILL')
  await world.start(env)
}

/** Runs the gateway with other variables for a while. */
async function withEnv(env: Readonly<Record<string, string>>): Promise<void> {
  await restart(env)
  await world.load.served(SERVED)
  await restart()
}

function limit(what: string): void {
  execFileSync('prlimit', ['--pid', String(world.pid), what])
}

function segments(): readonly string[] {
  const paths = readdirSync(world.journal).map((name) => join(world.journal, name))
  return paths.filter((path) => path.endsWith('.jsonl') && statSync(path).size > 0)
}

/** Kills the gateway, changes its segments, and starts it. */
async function withDamage(change: (path: string) => void): Promise<void> {
  world.fake.recordsStatus = 503
  await world.load.served(SERVED)
  await world.stop('SIGKILL')
  world.fake.recordsStatus = 200
  for (const path of segments()) change(path)
  await world.start()
}

/** Answers of the gateway with this status since the call. */
function refusals(status: number): () => true | null {
  const { answers } = world.load
  const from = answers.length
  return () => (answers.slice(from).some((answer) => answer.status === status) ? true : null)
}

const FAULTS: readonly Fault[] = [
  { name: 'kill -9 of the gateway', act: () => restart() },
  {
    name: 'kill -9 of the gateway again before it has uploaded what it recovered',
    async act() {
      world.fake.recordsStatus = 503
      await restart()
      await restart()
      world.fake.recordsStatus = 200
    },
  },
  {
    name: 'SIGTERM of the gateway',
    async act() {
      await world.stop('SIGTERM')
      await world.start()
    },
  },
  {
    name: 'SIGSTOP of the gateway',
    async act() {
      process.kill(world.pid, 'SIGSTOP')
      await sleep(300)
      process.kill(world.pid, 'SIGCONT')
    },
  },
  { name: 'streams that are cut', act: async () => world.fake.dropStreams() },
  {
    name: 'a control plane that refuses connections',
    async act() {
      await world.relay.refuse()
      await world.load.served(SERVED)
      await world.relay.restore()
    },
  },
  {
    name: 'a network that drops all packets to the control plane',
    async act() {
      world.relay.swallow()
      await world.load.served(SERVED)
      await world.relay.restore()
      world.relay.cut()
    },
  },
  {
    name: 'connections to the control plane that are cut again and again',
    async act() {
      for (let n = 0; n < 5; n++) {
        world.relay.cut()
        await world.load.served(2)
      }
    },
  },
  {
    name: 'latency of 100 ms in each direction',
    isSlow: true,
    async act() {
      world.relay.delay(100)
      world.relay.cut()
      await world.load.served(SERVED)
      world.relay.delay(0)
      world.relay.cut()
    },
  },
  ...[500, 503, 429].map((status) => ({
    name: `record uploads that are answered with ${status}`,
    async act() {
      world.fake.recordsStatus = status
      await world.load.served(SERVED)
      world.fake.recordsStatus = 200
    },
  })),
  {
    name: 'record uploads that are stored, but whose answers are lost',
    async act() {
      const before = world.fake.records.length
      world.fake.isRecordsAnswerLost = true
      await eventually('a stored upload', () => (world.fake.records.length > before ? true : null))
      world.fake.isRecordsAnswerLost = false
    },
  },
  {
    name: 'kill -9 after an upload whose answer was lost: the same records are uploaded by the next process',
    async act() {
      const before = world.fake.records.length
      world.fake.isRecordsAnswerLost = true
      await eventually('a stored upload', () => (world.fake.records.length > before ? true : null))
      await world.stop('SIGKILL')
      world.fake.isRecordsAnswerLost = false
      await world.start()
    },
  },
  {
    name: 'a control plane that sends no heartbeats',
    async act() {
      world.fake.isBeating = false
      await world.load.served(SERVED)
      world.fake.isBeating = true
    },
  },
  {
    name: 'a section whose bytes were corrupted',
    async act() {
      world.fake.corrupt = 'agents'
      world.fake.configure({ keys: [] })
      await world.load.served(SERVED)
      world.fake.corrupt = null
    },
  },
  {
    name: 'a control plane that rejects the token for a while',
    async act() {
      world.fake.renewToken('another-token')
      world.fake.dropStreams()
      await world.load.served(SERVED)
      world.fake.renewToken(TOKEN)
    },
  },
  {
    name: 'a kill switch in the middle of the load, and its end',
    async act() {
      const entry = { scope: 'all', source: 'api', reason: 'fault', since: new Date().toISOString() }
      const isRefused = refusals(403)
      const seq = world.fake.kill([entry])
      await eventually('the acknowledgement', () =>
        world.fake.acks.some(({ kill_seq }) => kill_seq === seq) ? true : null,
      )
      await eventually('a refusal', isRefused)
      world.fake.kill([])
    },
  },
  {
    name: 'a kill switch that is set while the gateway is dead',
    async act() {
      await world.stop('SIGKILL')
      const entry = { scope: 'all', source: 'api', reason: 'fault', since: new Date().toISOString() }
      const seq = world.fake.kill([entry])
      await world.start()
      await eventually('the acknowledgement', () =>
        world.fake.acks.some(({ kill_seq }) => kill_seq === seq) ? true : null,
      )
      world.fake.kill([])
    },
  },
  {
    name: 'a wall clock that is an hour ahead',
    act: () => withEnv({ NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`, CLOCK_SHIFT_MS: '3600000' }),
  },
  {
    name: 'a wall clock that is an hour behind',
    act: () => withEnv({ NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`, CLOCK_SHIFT_MS: '-3600000' }),
  },
  {
    name: 'a limit of 48 MiB of heap',
    act: () => withEnv({ NODE_OPTIONS: '--max-old-space-size=48' }),
  },
  {
    name: 'a limit of descriptors that leaves room for few connections',
    async act() {
      const open = readdirSync(`/proc/${world.pid}/fd`).length
      limit(`--nofile=${open}:`)
      await sleep(300)
      limit('--nofile=1024:')
    },
  },
  {
    name: 'a journal that is full because the control plane is away',
    async act() {
      const isRefused = refusals(503)
      await restart({ JOURNAL_MAX_BYTES: '1048576' })
      world.fake.recordsStatus = 503
      await eventually('a refusal for want of room', isRefused)
      world.fake.recordsStatus = 200
      await world.load.served(SERVED)
      await restart()
    },
    isSlow: true,
  },
  {
    name: 'an upstream that closes its connections',
    async act() {
      const isFailed = refusals(502)
      world.upstream.answerWith((request) => request.socket.destroy())
      await eventually('a failed call', isFailed)
      world.upstream.answerWith(replyJson({ ok: true }))
    },
  },
  {
    name: 'kill -9 while the upstream answers nothing: the calls in flight have an unknown result',
    async act() {
      const before = world.upstream.seen.length
      world.upstream.answerWith(replyNever())
      await eventually('calls in flight', () => (world.upstream.seen.length > before + 3 ? true : null))
      await world.stop('SIGKILL')
      world.upstream.answerWith(replyJson({ ok: true }))
      await world.start()
    },
  },
  {
    name: 'flipped bytes in the journal of a killed process',
    isLossy: true,
    act: () =>
      withDamage((path) => {
        const bytes = readFileSync(path)
        const end = bytes.lastIndexOf(10, bytes.length - 2)
        for (let at = 500; at < end; at += 4_000) bytes[at] = (bytes[at] ?? 0) ^ 1
        writeFileSync(path, bytes)
      }),
  },
]

/** What destroys the end of a journal leaves nothing that shows the lost numbers, so only the other ledgers are checked. */
const UNSEEN: readonly Fault[] = [
  {
    name: 'a journal whose last bytes were cut off',
    act: () => withDamage((path) => truncateSync(path, Math.max(0, statSync(path).size - 100))),
  },
  { name: 'a journal that was deleted', act: () => withDamage((path) => rmSync(path)) },
]

async function run({ act, isLossy = false }: Fault, check: boolean): Promise<void> {
  world.load.resume()
  await world.load.served(SERVED)
  await act()
  await world.load.served(SERVED)
  await world.load.pause()
  if (check) await expectLedgers(world, { isLossy: isLossy || hasLost })
  hasLost ||= isLossy
}
/** Once a journal was damaged, some numbers are lost for the rest of the run. */
let hasLost = false

describe.each(Array.from({ length: ROUNDS }, (_, n) => n + 1))('round %i', () => {
  for (const fault of FAULTS.filter(({ isSlow = false }) => IS_FULL || !isSlow)) {
    test(`${fault.name} breaks no ledger`, { timeout: 120_000 }, () => run(fault, true))
  }
})

describe('a journal that lost its end', () => {
  test.each(UNSEEN)(
    '$name: the gateway starts, and nothing denied or unapproved is forwarded',
    async (fault) => {
      await run(fault, false)
      const targets = world.upstream.seen.map(({ target }) => target)
      expect(targets.filter((target) => target.startsWith('/denied/'))).toEqual([])
      const held = targets.filter((target) => target.startsWith('/held/'))
      expect(new Set(held).size).toBe(held.length)
    },
    120_000,
  )
})
