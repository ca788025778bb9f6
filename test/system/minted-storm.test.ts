import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { IS_FULL, size } from '../support/proof.ts'
import { type MintedWorld, startMintedWorld } from './minted-world.ts'

/** The usual token lives longer, so that a loaded machine exchanges it in time. */
const LIFETIME_S = size(6, 2)
const DURATION_MS = size(12_000, 180_000)
/** Requests in flight. */
const CALLERS = 4

let world: MintedWorld
beforeAll(async () => {
  world = await startMintedWorld()
}, 120_000)
afterAll(() => world?.[Symbol.asyncDispose](), 60_000)

test(
  `requests for ${DURATION_MS / 1_000} s with tokens of ${LIFETIME_S} s all succeed, and none leaves with an expired token; without the source they are refused from the expiry on`,
  async () => {
    const { server } = world
    server.lifetimeS = LIFETIME_S
    await world.connect('storm', {}, server.clientSecret)
    await world.ready('storm')
    const until = performance.now() + DURATION_MS
    const statuses = new Map<number, number>()
    const caller = async () => {
      while (performance.now() < until) {
        const { status } = await world.send('GET', 'storm.test')
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, caller))
    expect(Object.fromEntries(statuses)).toEqual({ 200: expect.any(Number) })
    expect(server.calls.filter(({ status }) => status !== 200)).toEqual([])
    const used = new Set(server.calls.map(({ token }) => token))
    expect(used.size).toBeGreaterThanOrEqual(IS_FULL ? 60 : 2)

    server.failure = 'close'
    const refused = await eventually('the refusal', async () => {
      const answer = await world.send('GET', 'storm.test')
      return answer.status === 200 ? null : answer
    })
    expect(refused.status).toBe(503)
    expect(refused.text).toContain('was not reached')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(server.calls.filter(({ status }) => status !== 200)).toEqual([])
  },
  DURATION_MS + 60_000,
)
