import { createHash, createHmac } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { DownMessage } from '../../../core/wire/gateway/sync.ts'
import { beatMacText } from '../../../core/wire/gateway/sync-mac.ts'
import { createHeartbeats } from '../../../sidecar/control/stream/heartbeats.ts'
import { ControlStream } from '../../../sidecar/control/stream/stream.ts'
import { createTestLog } from './test-log.ts'

/* Streams of replicas that beat or do not, on a clock that only the test moves. */

const TOKEN = 'token'
const EFFECTIVE = [{ scope: 'all', source: 'api', reason: 'r', since: '2026-01-01T00:00:00.000Z' }]
beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }))
afterEach(() => void vi.useRealTimers())

type Fake = {
  readonly openedAt: number
  isEnded: boolean
  say(message: DownMessage): void
  /** As a replica sends it whose clock says `atMs`. */
  beat(atMs?: number): void
  greet(): void
  end(): void
}

function streamOf(signal: AbortSignal): { fake: Fake; body: AsyncGenerator<Buffer> } {
  const lines: Buffer[] = []
  let wake = Promise.withResolvers<void>()
  const stir = () => {
    wake.resolve()
    wake = Promise.withResolvers<void>()
  }
  const fake: Fake = {
    openedAt: Date.now(),
    isEnded: false,
    say(message) {
      lines.push(Buffer.from(`${JSON.stringify(message)}\n`))
      stir()
    },
    beat(atMs = Date.now()) {
      const until = new Date(atMs + 30_000).toISOString()
      const key = createHash('sha256').update(`sync:${TOKEN}`).digest()
      const mac = createHmac('sha256', key).update(beatMacText(1, until)).digest('hex')
      this.say({ type: 'beat', version: 1, until, mac })
    },
    greet() {
      const at = new Date().toISOString()
      this.say({ type: 'hello', protocol: 1, gateway: { id: 'g', name: 'n' }, lease_ms: 30_000, at })
    },
    end() {
      this.isEnded = true
      stir()
    },
  }
  signal.addEventListener('abort', () => fake.end())
  async function* body() {
    for (;;) {
      for (const line of lines.splice(0)) yield line
      if (fake.isEnded) return
      await wake.promise
    }
  }
  return { fake, body: body() }
}

function world(random = () => 0.5) {
  const streams: Fake[] = []
  const kills: Array<readonly [seq: number, isCurrent: boolean]> = []
  const hellos: number[] = []
  let renewals = 0
  let answer: (fake: Fake) => void = () => undefined
  let refused: boolean | 'greeting' = false
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
  const heartbeats = createHeartbeats(clock)
  const stream = new ControlStream({
    client: {
      async open(_path, signal) {
        const { fake, body } = streamOf(signal)
        streams.push(fake)
        if (refused === true) {
          fake.end()
          throw new Error('refused')
        }
        if (refused === false) fake.greet()
        answer(fake)
        return { status: 200, body, bearer: TOKEN }
      },
      renew: () => void renewals++,
    },
    controlPlaneUrl: 'http://x',
    handlers: {
      hello: () => void hellos.push(streams.length),
      sections: () => undefined,
      kill: ({ seq }, isCurrent) => void kills.push([seq, isCurrent]),
      verdict: () => undefined,
      execute: () => undefined,
      quota: () => undefined,
      instance: () => undefined,
    },
    ...{ heartbeats, clock, random, log: createTestLog() },
  })
  stream.start()
  return {
    ...{ streams, kills, hellos, heartbeats, stream },
    open: () => streams.filter(({ isEnded }) => !isEnded),
    renewals: () => renewals,
    onOpen: (then: (fake: Fake) => void) => {
      answer = then
    },
    refuse: (what: boolean | 'greeting') => {
      refused = what
    },
  }
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('a stream without heartbeats', () => {
  test('is kept, and replaced only by a second stream with heartbeats', async () => {
    const { streams, open, heartbeats, stream, renewals, onOpen } = world()
    await pass(0)
    streams[0]?.beat()
    await pass(14_000)
    expect(streams).toHaveLength(1)
    await pass(12_000)
    // The second one has greeted and does not beat: the first is still in use, and nothing was renewed for it.
    expect(streams.length).toBeGreaterThan(1)
    expect(streams[0]?.isEnded).toBe(false)
    expect(renewals()).toBe(1)
    onOpen((fake) => fake.beat())
    for (let second = 0; second < 60 && streams[0]?.isEnded === false; second++) await pass(1_000)
    expect(streams[0]?.isEnded).toBe(true)
    expect(open()).toHaveLength(1)
    expect([renewals(), heartbeats.isConnected]).toEqual([2, true])
    const count = streams.length
    for (let beat = 0; beat < 20; beat++) {
      open()[0]?.beat()
      await pass(5_000)
    }
    expect(streams).toHaveLength(count)
    expect(heartbeats.lostForMs()).toBe(0)
    stream.close()
  })

  test('applies kill switches of both streams; a stream acknowledges only while it is in use', async () => {
    const { streams, kills, stream, onOpen } = world()
    await pass(0)
    streams[0]?.say({ type: 'kill', seq: 1, effective: [] })
    onOpen((fake) => fake.say({ type: 'kill', seq: 7, effective: EFFECTIVE }))
    await pass(20_000)
    expect(kills).toEqual([
      [1, true],
      [7, false],
    ])
    streams[0]?.say({ type: 'kill', seq: 2, effective: EFFECTIVE })
    await pass(0)
    expect(kills.at(-1)).toEqual([2, true])
    streams.at(-1)?.beat()
    await pass(0)
    expect(kills.at(-1)).toEqual([7, true])
    stream.close()
  })

  test('recovers: the second stream is closed', async () => {
    const { streams, open, stream } = world()
    await pass(19_000)
    expect(open()).toHaveLength(2)
    streams[0]?.beat()
    await pass(1)
    expect(open()).toEqual([streams[0]])
    await pass(10_000)
    expect(streams).toHaveLength(2)
    stream.close()
  })

  test('is replaced by the second stream when both lead to one replica, which ends the first', async () => {
    const { streams, open, heartbeats, stream, hellos, onOpen } = world()
    await pass(0)
    onOpen(() => {
      for (const earlier of streams.slice(0, -1)) earlier.end()
    })
    await pass(600_000)
    // One at a time, further and further apart, and the gateway is never without a stream.
    expect(open().length).toBeGreaterThanOrEqual(1)
    expect(heartbeats.isConnected).toBe(true)
    expect(streams.length).toBeLessThan(600 / 20)
    expect(hellos.length).toBeGreaterThan(2)
    // The lease runs all the same.
    expect(heartbeats.lostForMs()).toBeGreaterThan(590_000)
    stream.close()
  })

  test.each([0, 0.3, 0.9])(
    'is searched from at most every quarter of a minute (random %d)',
    async (value) => {
      const { streams, open, stream } = world(() => value)
      await pass(3_600_000)
      expect(streams.length).toBeLessThan(3_600 / 15)
      expect(open().length).toBeLessThanOrEqual(2)
      expect(streams[0]?.isEnded).toBe(false)
      stream.close()
    },
  )

  test('makes a thousand gateways search at different times', async () => {
    let seed = 1
    const random = () => {
      seed = (seed * 16_807) % 2_147_483_647
      return seed / 2_147_483_647
    }
    const gateways = Array.from({ length: 1_000 }, () => world(random))
    await pass(300_000)
    const perSecond = new Map<number, number>()
    for (const { openedAt } of gateways.flatMap(({ streams }) => streams.slice(1))) {
      const second = Math.floor(openedAt / 1_000)
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1)
    }
    const later = [...perSecond].filter(([second]) => second > 1_800_000_000 + 120).map(([, count]) => count)
    expect(Math.max(...later)).toBeLessThan(100)
    for (const { stream } of gateways) stream.close()
  })

  test('is kept when the second stream is refused', async () => {
    const { streams, open, stream, refuse } = world()
    await pass(1_000)
    refuse(true)
    await pass(120_000)
    expect(open()[0]).toBe(streams[0])
    expect(streams[0]?.isEnded).toBe(false)
    stream.close()
  })
})

test('a heartbeat with another key neither renews the lease nor promotes its stream', async () => {
  const { streams, open, heartbeats, stream, onOpen } = world()
  await pass(0)
  onOpen((fake) =>
    fake.say({
      type: 'beat',
      version: 1,
      until: new Date(Date.now() + 30_000).toISOString(),
      mac: 'ab'.repeat(32),
    }),
  )
  await pass(60_000)
  expect(open()[0]).toBe(streams[0])
  expect(heartbeats.lostForMs()).toBeGreaterThanOrEqual(60_000)
  stream.close()
})

test('a silent stream that ends is lost since its last heartbeat', async () => {
  const { streams, heartbeats, stream, refuse } = world()
  await pass(0)
  streams[0]?.beat()
  await pass(100_000)
  refuse(true)
  for (const each of streams) each.end()
  await pass(0)
  expect(heartbeats.isConnected).toBe(false)
  expect(heartbeats.lostForMs()).toBeGreaterThanOrEqual(100_000)
  stream.close()
})

describe('a heartbeat that does not advance', () => {
  const HOUR = 3_600_000
  test.each<[string, (start: number, second: number) => number]>([
    ['of a clock that was set back', (start, second) => start - HOUR + second * 1_000],
    ['of a clock that was set back a little', (start, second) => start - 1 + second / 100],
    ['of a clock that stands still', (start) => start],
    ['that is repeated', (start) => start - 500],
    ['that was held back for ever longer', (start, second) => start - 120_000 + second],
    ['of a clock that goes backwards', (start, second) => start - second * 1_000],
  ])('%s keeps neither lease nor stream: another replica is taken', async (_, timeOf) => {
    const { streams, open, heartbeats, stream, onOpen } = world()
    await pass(0)
    streams[0]?.beat()
    await pass(0)
    const start = Date.now()
    for (let second = 1; second <= 20; second++) {
      await pass(1_000)
      streams[0]?.beat(timeOf(start, second))
    }
    await pass(0)
    expect(heartbeats.lostForMs()).toBeGreaterThanOrEqual(20_000)
    onOpen((fake) => fake.beat())
    for (let second = 0; second < 60 && streams[0]?.isEnded === false; second++) {
      await pass(1_000)
      streams[0]?.beat(timeOf(start, 20))
    }
    expect(streams[0]?.isEnded).toBe(true)
    expect(open()).toHaveLength(1)
    expect(heartbeats.lostForMs()).toBe(0)
    stream.close()
  })

  test('does not promote a second stream', async () => {
    const { streams, open, stream, onOpen } = world()
    await pass(0)
    onOpen((fake) => {
      for (const late of [-46_000, -60_000, -HOUR, Number.NaN]) {
        if (Number.isNaN(late)) fake.say({ type: 'beat', version: 1, until: 'never', mac: '' })
        else fake.beat(Date.now() + late)
      }
    })
    await pass(120_000)
    expect(open()[0]).toBe(streams[0])
    stream.close()
  })

  test('is detected by the monotonic clock when the wall clock is set back', async () => {
    const { streams, heartbeats, stream } = world()
    await pass(0)
    streams[0]?.beat()
    await pass(0)
    const start = Date.now()
    vi.setSystemTime(start - HOUR)
    for (let second = 1; second <= 60; second++) {
      await pass(1_000)
      streams[0]?.beat(start - 60_000 + second * 1_001)
    }
    expect(heartbeats.lostForMs()).toBeGreaterThanOrEqual(59_000)
    stream.close()
  })
})

describe('the sequence number of a kill state', () => {
  const say = (fake: Fake | undefined, seq: number) => fake?.say({ type: 'kill', seq, effective: EFFECTIVE })
  test('is compared within one stream: an older state is ignored', async () => {
    const { streams, kills, stream, onOpen } = world()
    await pass(0)
    for (const seq of [5, 4, 5, 6, 1, 6]) say(streams[0], seq)
    await pass(0)
    expect(kills.map(([seq]) => seq)).toEqual([5, 5, 6, 6])
    onOpen((fake) => {
      for (const seq of [2, 1, 3]) say(fake, seq)
    })
    await pass(20_000)
    expect(kills.slice(4).map(([seq]) => seq)).toEqual([2, 3])
    streams.at(-1)?.beat()
    await pass(0)
    expect(kills.at(-1)).toEqual([3, true])
    say(streams.at(-1), 2)
    await pass(0)
    expect(kills.at(-1)).toEqual([3, true])
    stream.close()
  })
})

describe('both streams that end together', () => {
  const endAll = (...fakes: ReadonlyArray<Fake | undefined>) => {
    for (const fake of fakes) fake?.end()
  }
  const ORDERS: ReadonlyArray<
    readonly [string, (first: Fake | undefined, second: Fake | undefined) => void]
  > = [
    ['the one in use first', (first, second) => endAll(first, second)],
    ['the second one first', (first, second) => endAll(second, first)],
    [
      'the second one with a beat',
      (first, second) => {
        first?.end()
        second?.beat()
        second?.end()
      },
    ],
    [
      'the one in use with a beat',
      (first, second) => {
        second?.end()
        first?.beat()
        first?.end()
      },
    ],
  ]
  test.each(ORDERS)(
    '%s: the control plane counts as lost until the hello of another stream',
    async (_, end) => {
      const { streams, open, heartbeats, stream, refuse, onOpen } = world()
      await pass(0)
      streams[0]?.beat()
      await pass(22_000)
      expect(open()).toHaveLength(2)
      refuse(true)
      end(streams[0], streams[1])
      await pass(1)
      expect(heartbeats.isConnected).toBe(false)
      await pass(30_000)
      expect([heartbeats.isConnected, open().length]).toEqual([false, 0])
      expect(heartbeats.lostForMs()).toBeGreaterThanOrEqual(30_000)
      refuse(false)
      onOpen((fake) => fake.beat())
      await pass(10_000)
      expect([heartbeats.isConnected, open().length]).toEqual([true, 1])
      for (let beat = 0; beat < 12; beat++) {
        open()[0]?.beat()
        await pass(5_000)
      }
      expect([heartbeats.lostForMs(), open().length]).toEqual([0, 1])
      stream.close()
    },
  )
})

test('a second stream before its hello is not closed when the stream in use ends', async () => {
  const { streams, heartbeats, stream, hellos, open, refuse } = world()
  await pass(0)
  streams[0]?.beat()
  await pass(14_000)
  refuse('greeting')
  await pass(8_000)
  expect(open()).toHaveLength(2)
  streams[0]?.end()
  await pass(0)
  expect(heartbeats.isConnected).toBe(false)
  streams[1]?.greet()
  streams[1]?.beat()
  await pass(0)
  expect(heartbeats.isConnected).toBe(true)
  expect([open(), hellos.length]).toEqual([[streams[1]], 2])
  stream.close()
})
