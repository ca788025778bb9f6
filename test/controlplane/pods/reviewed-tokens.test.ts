import { describe, expect, test } from 'vitest'
import {
  createReviewedTokens,
  type PresentedToken,
  type ReviewLimits,
} from '../../../controlplane/features/authentication/cluster/reviewed-tokens.ts'
import type { ReviewedPod } from '../../../controlplane/features/authentication/cluster/token-review.ts'
import { ChaperoneError } from '../../../core/errors.ts'

const POD: ReviewedPod = { namespace: 'team', serviceAccount: 'bot', name: 'bot-1', uid: 'uid-1' }
const CALL = { maxAgeMs: 300_000, survivesSilence: true }
const FRESH = { maxAgeMs: 0 }
const LIMITS: ReviewLimits = { rejectedPerAddress: 20, unknownPerMinute: 6_000, unknownInFlight: 8 }

function world(limits: Partial<ReviewLimits> = {}) {
  const asked: string[] = []
  const state = {
    now: 0,
    silent: false,
    rejects: false,
    held: null as Promise<undefined> | null,
    running: 0,
    most: 0,
  }
  const tokens = createReviewedTokens(
    {
      async review(token) {
        asked.push(token)
        state.running += 1
        state.most = Math.max(state.most, state.running)
        await state.held
        state.running -= 1
        if (state.silent) throw new ChaperoneError('not_ready', { retryAfterS: 2 })
        return token.startsWith('good') && !state.rejects ? POD : null
      },
    },
    () => state.now,
    { ...LIMITS, ...limits },
  )
  const presented = (token: string, more: Partial<PresentedToken> = {}): PresentedToken => ({
    ...{ token, hash: `hash of ${token}`, expiresAtMs: Date.now() + 3_600_000, address: '192.0.2.1' },
    ...more,
  })
  return { asked, state, tokens, presented }
}

const code = (work: Promise<unknown>) =>
  work.then(
    () => 'answered',
    (error: unknown) => (error instanceof ChaperoneError ? error.code : String(error)),
  )

describe('a flood of unknown tokens', () => {
  test('from one address causes a bounded number of reviews a minute, and its known tokens go on', async () => {
    const { asked, state, tokens, presented } = world()
    await tokens.of(presented('good'), FRESH)
    const answers: string[] = []
    for (let at = 0; at < 500; at++) answers.push(await code(tokens.of(presented(`bad-${at}`), FRESH)))
    expect(asked).toHaveLength(22)
    expect(answers.filter((answer) => answer === 'not_ready')).toHaveLength(479)
    expect((await tokens.of(presented('good'), FRESH)).subject).toEqual(POD)
    expect((await tokens.of(presented('good-new', { address: '192.0.2.2' }), FRESH)).subject).toEqual(POD)
    expect(await code(tokens.of(presented('good-other'), FRESH))).toBe('not_ready')
    state.now += 60_000
    expect((await tokens.of(presented('good-other'), FRESH)).subject).toEqual(POD)
  })

  test.each([
    ['IPv6 addresses of one network', (at: number) => `2001:db8:0:1::${(at + 1).toString(16)}`],
    ['IPv4 addresses in IPv6', () => '::ffff:192.0.2.1'],
  ])('from many %s counts as one', async (_what, address) => {
    const { asked, tokens, presented } = world()
    for (let at = 0; at < 100; at++)
      await code(tokens.of(presented(`bad-${at}`, { address: address(at) }), FRESH))
    expect(asked).toHaveLength(21)
  })

  test('from one connection of a shared address leaves the other connections alone, up to half of all reviews', async () => {
    const { asked, tokens, presented } = world({ unknownPerMinute: 200 })
    const from = (port: number) => ({ address: `127.0.0.1 port ${port}` })
    for (let at = 0; at < 60; at++) await code(tokens.of(presented(`bad-${at}`, from(4_001)), FRESH))
    expect(asked).toHaveLength(21)
    expect(await code(tokens.of(presented('good-a', from(4_001)), FRESH))).toBe('not_ready')
    expect((await tokens.of(presented('good-b', from(4_002)), FRESH)).subject).toEqual(POD)
    for (let at = 0; at < 300; at++) await code(tokens.of(presented(`more-${at}`, from(5_000 + at)), FRESH))
    expect(asked).toHaveLength(100)
    expect((await tokens.of(presented('good-c'), FRESH)).subject).toEqual(POD)
    expect((await tokens.of(presented('good-b', from(6_000)), FRESH)).subject).toEqual(POD)
  })

  test('of one connection is reviewed two at a time', async () => {
    const { asked, state, tokens, presented } = world()
    let release = () => {}
    state.held = new Promise((resolve) => {
      release = () => resolve(undefined)
    })
    const answers = Array.from({ length: 20 }, (_, at) =>
      code(tokens.of(presented(`bad-${at}`, { address: '::1 port 9' }), FRESH)),
    )
    expect(asked).toHaveLength(2)
    release()
    expect((await Promise.all(answers)).filter((answer) => answer === 'not_ready')).toHaveLength(18)
  })

  test('from many addresses is bounded in all and at a time; sessions and known tokens do not wait', async () => {
    const { asked, state, tokens, presented } = world({ unknownPerMinute: 300 })
    await tokens.of(presented('good'), FRESH)
    const gate = Promise.withResolvers<undefined>()
    state.held = gate.promise
    const flood = Array.from({ length: 1_000 }, (_, at) =>
      code(tokens.of(presented(`bad-${at}`, { address: `198.51.${at >> 8}.${at & 255}` }), FRESH)),
    )
    await new Promise((resolve) => setImmediate(resolve))
    expect(asked).toHaveLength(9)
    const known = tokens.of(presented('good'), FRESH)
    const session = tokens.of(presented('good-session', { address: null }), FRESH)
    expect(asked.slice(-2)).toEqual(['good', 'good-session'])
    gate.resolve(undefined)
    expect([(await known).subject, (await session).subject]).toEqual([POD, POD])
    const answers = await Promise.all(flood)
    expect(answers.filter((answer) => answer === 'answered')).toHaveLength(299)
    expect(asked).toHaveLength(302)
    expect(state.most).toBe(10)
  })

  test('evicts no token that the cluster vouched for', async () => {
    const { asked, tokens, presented } = world({ unknownPerMinute: 100_000 })
    await tokens.of(presented('good'), FRESH)
    for (let at = 0; at < 25_000; at++)
      await code(
        tokens.of(
          presented(`bad-${at}`, { address: `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}` }),
          FRESH,
        ),
      )
    const before = asked.length
    expect((await tokens.of(presented('good'), CALL)).subject).toEqual(POD)
    expect(asked).toHaveLength(before)
  })

  test('of one token is one review for ten seconds', async () => {
    const { asked, state, tokens, presented } = world()
    await Promise.all(Array.from({ length: 50 }, () => code(tokens.of(presented('bad'), FRESH))))
    for (let at = 0; at < 50; at++) await code(tokens.of(presented('bad'), CALL))
    expect(asked).toHaveLength(1)
    state.now += 10_000
    await tokens.of(presented('bad'), CALL)
    expect(asked).toHaveLength(2)
  })
})

describe('while the cluster is silent', () => {
  test('a good review counts for calls until the token expires, and nowhere else', async () => {
    const { state, tokens, presented } = world()
    await tokens.of(presented('good'), FRESH)
    state.silent = true
    state.now += 30 * 60_000
    expect(await tokens.of(presented('good'), CALL)).toEqual({ subject: POD, ageMs: 30 * 60_000 })
    expect(await code(tokens.of(presented('good'), FRESH))).toBe('not_ready')
    expect(await code(tokens.of(presented('good'), { maxAgeMs: 60_000 }))).toBe('not_ready')
    for (const expiresAtMs of [Date.now() - 1, null])
      expect(await code(tokens.of(presented('good', { expiresAtMs }), CALL))).toBe('not_ready')
    expect(await code(tokens.of(presented('good-new'), CALL))).toBe('not_ready')
  })

  test('nothing counts as rejected', async () => {
    const { asked, state, tokens, presented } = world()
    state.silent = true
    for (let at = 0; at < 100; at++) await code(tokens.of(presented(`good-${at}`), FRESH))
    expect(asked).toHaveLength(100)
    state.silent = false
    expect((await tokens.of(presented('good-0'), FRESH)).subject).toEqual(POD)
  })

  test('a good review is discarded once the cluster rejects the token', async () => {
    const { state, tokens, presented } = world()
    await tokens.of(presented('good'), FRESH)
    state.rejects = true
    expect((await tokens.of(presented('good'), FRESH)).subject).toBe(null)
    state.silent = true
    expect((await tokens.of(presented('good'), CALL)).subject).toBe(null)
    state.now += 10_000
    expect(await code(tokens.of(presented('good'), CALL))).toBe('not_ready')
  })
})
