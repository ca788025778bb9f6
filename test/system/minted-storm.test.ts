import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { size } from '../support/proof.ts'
import { type Answered, type MintedWorld, startMintedWorld } from './minted-world.ts'

/**
 * The drills of short-lived credentials. `CHAPERONE_DRILL=SECONDS:LIFETIME` sets the duration of the first drill and the lifetime of
 * its tokens, both in seconds: `5400:60` is 90 minutes of 60-second tokens.
 */
const [GIVEN_S, GIVEN_LIFETIME_S] = (process.env['CHAPERONE_DRILL'] ?? '').split(':').map(Number)
const DURATION_S = GIVEN_S || 180
const LIFETIME_S = GIVEN_LIFETIME_S || 2
/**
 * Requests in flight. The usual drill has the duration of the full one and little load, because other tests run too.
 */
const CALLERS = size(1, 4)
/** Pause of a caller between two requests, which leaves most of a core to others. */
const CALLER_PAUSE_MS = DURATION_S > 600 ? 100 : size(100, 20)

/** Time for which the source is away, and the lifetime of the token that serves meanwhile. */
const AWAY_S = size(8, 300)
const AWAY_LIFETIME_S = size(6, 120)
/** Pause between two requests while the source is away, because a refusal takes no time. */
const PAUSE_MS = 50

let world: MintedWorld
beforeAll(async () => {
  world = await startMintedWorld()
}, 120_000)
afterAll(() => world?.[Symbol.asyncDispose](), 60_000)

/** Counts of what the upstream has seen. */
const seen = { calls: 0, expired: 0, tokens: new Set<string | null>() }
/** Adds the calls since the last call of this function, and discards them. */
function countCalls(): typeof seen {
  for (const { status, token } of world.server.calls.splice(0)) {
    seen.calls += 1
    if (status !== 200) seen.expired += 1
    seen.tokens.add(token)
  }
  return seen
}

test(
  `requests for ${DURATION_S} s with tokens of ${LIFETIME_S} s all succeed, and none leaves with an expired token`,
  async () => {
    const { server } = world
    server.lifetimeS = LIFETIME_S
    await world.connect('storm', {}, server.clientSecret)
    await world.ready('storm')
    const until = performance.now() + DURATION_S * 1_000
    const statuses = new Map<number, number>()
    const caller = async () => {
      while (performance.now() < until) {
        const { status } = await world.send('GET', 'storm.test')
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        countCalls()
        await delay(CALLER_PAUSE_MS)
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, caller))
    const { calls, expired, tokens } = countCalls()
    const requests = [...statuses.values()].reduce((sum, count) => sum + count, 0)
    const failures = requests - (statuses.get(200) ?? 0)
    print(
      `${requests} requests in ${DURATION_S} s, ${failures} failures, ${tokens.size} tokens of ${LIFETIME_S} s, ${expired} of ${calls} calls with an expired token`,
    )
    expect(Object.fromEntries(statuses)).toEqual({ 200: expect.any(Number) })
    expect(expired).toBe(0)
    // A token is replaced before its end, so that there are at least as many as lifetimes.
    expect(tokens.size).toBeGreaterThanOrEqual(Math.max(1, Math.floor(DURATION_S / LIFETIME_S)))
  },
  DURATION_S * 1_000 + 120_000,
)

test(
  `a source that is away for ${AWAY_S} s: nothing fails until the token of ${AWAY_LIFETIME_S} s expires, then requests are refused with its error, and served again when it is back`,
  async () => {
    const { server } = world
    server.lifetimeS = AWAY_LIFETIME_S
    await world.connect('away', {}, server.clientSecret)
    await world.ready('away')
    countCalls()
    const expiredBefore = seen.expired
    server.failure = 'close'
    const until = Date.now() + AWAY_S * 1_000
    const served: Seen[] = []
    const refused: Seen[] = []
    while (Date.now() < until || refused.length === 0) {
      const startedMs = Date.now()
      const answer = await world.send('GET', 'away.test')
      const list = answer.status === 200 ? served : refused
      list.push({ startedMs, answeredMs: Date.now(), answer })
      await delay(PAUSE_MS)
    }
    const used = server.calls.at(-1)?.token
    const expiryMs = server.issued.find((one) => one.token === used)?.expiresAtMs ?? 0
    server.failure = null
    const backMs = Date.now()
    await eventually('a request that is served again', async () =>
      (await world.send('GET', 'away.test')).status === 200 ? true : null,
    )
    print(
      `source away for ${AWAY_S} s: ${served.length} requests served, then ${refused.length} refused, the first ${(refused[0]?.answeredMs ?? 0) - expiryMs} ms after the expiry; served again after ${Date.now() - backMs} ms`,
    )
    // No request failed before the expiry, and none was served after it.
    expect(refused.every(({ answeredMs }) => answeredMs >= expiryMs - EARLY_MS)).toBe(true)
    expect(served.every(({ startedMs }) => startedMs <= expiryMs)).toBe(true)
    for (const { answer } of refused) {
      expect(answer.status).toBe(503)
      expect(answer.text).toContain('was not reached')
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
    expect(countCalls().expired - expiredBefore).toBe(0)
  },
  AWAY_S * 1_000 + 180_000,
)

type Seen = { readonly startedMs: number; readonly answeredMs: number; readonly answer: Answered }

/**
 * The control plane takes a token as expired a tenth of its lifetime, at most 5 s, before the server that issued it does. The lifetime
 * counts from the request for the token.
 */
const EARLY_MS = Math.min(5_000, AWAY_LIFETIME_S * 100) + 1_000

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
