import { describe, expect, test } from 'vitest'
import { createOperatorIdentity } from '../../../controlplane/features/authentication/cluster/operator-identity.ts'
import { createReviewedTokens } from '../../../controlplane/features/authentication/cluster/reviewed-tokens.ts'
import { withRecentCallers } from '../../../controlplane/features/authentication/recent-callers.ts'
import type { ClusterCallers, UserPrincipal } from '../../../controlplane/http/auth/authenticate.ts'
import { refuseRestricted } from '../../../controlplane/http/auth/restriction.ts'
import { requireRight } from '../../../controlplane/http/auth/rights.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'

/* Users of a cluster, and its operator, while the API server or the database hangs or fails. */
type Answer = <T>(value: T) => Promise<T>
const answers: Answer = async (value) => value
const hangs: Answer = () => new Promise(() => undefined)
const silent: Answer = () => Promise.reject(new ChaperoneError('not_ready', { detail: 'no answer' }))
const broken: Answer = () => Promise.reject(new Error('the database is away'))
const AWAY: ReadonlyArray<readonly [string, Answer]> = [
  ['hangs', hangs],
  ['is silent', silent],
  ['fails', broken],
]

function world(rights: Namespaces = new Set(['team'])) {
  const state = { review: answers, rights: answers, granted: rights, isKnown: true, nowMs: 0, reviews: 0 }
  const find = async (): Promise<UserPrincipal | undefined> => {
    const isKnown = await state.review(state.isKnown)
    if (!isKnown) return undefined
    return {
      ...{ kind: 'user', userId: 'cluster:ann', email: 'ann', role: 'member', groups: [], via: 'cluster' },
      namespaces: new Set(),
      clusterRights: (right) => {
        state.reviews++
        return state.rights(right.startsWith('killswitches/') ? state.granted : new Set<string>())
      },
    }
  }
  const inner: ClusterCallers = { byToken: find, byCertificate: find }
  const callers = withRecentCallers(inner, { nowMs: () => state.nowMs, patienceMs: 20 })
  return { state, callers }
}
const jwt = (exp: number) => `e30.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.x`
const LATER = Math.floor(Date.now() / 1_000) + 3_600
const turn = () => new Promise((resolve) => setTimeout(resolve, 5))

const WAYS: ReadonlyArray<
  readonly [string, (callers: ClusterCallers, isUrgent: boolean) => Promise<UserPrincipal | undefined>]
> = [
  ['a token', (callers, isUrgent) => callers.byToken(jwt(LATER), '::1', isUrgent)],
  ['a token without claims', (callers, isUrgent) => callers.byToken('static', '::1', isUrgent)],
  [
    'a certificate',
    (callers, isUrgent) => callers.byCertificate({ username: 'ann', groups: ['dev'] }, isUrgent),
  ],
]

describe.each(WAYS)('a user of a cluster by %s', (_way, call) => {
  describe.each(AWAY)('whose API server or database %s', (_what, away) => {
    test.each(['review', 'rights'] as const)(
      'activates a kill switch where they had the right lately, as unchecked, and nothing else (%s)',
      async (part) => {
        const { state, callers } = world()
        await call(callers, false)
        await turn()
        state[part] = away
        const found = await call(callers, true)
        if (found === undefined) throw new Error('no principal')
        expect(found.restriction).toBe('unchecked')
        expect(() => refuseRestricted(found)).toThrow(/can only activate the kill switch/)
        const allowed = await requireRight(found, 'killswitches/activate', true)
        expect(allowed.namespaces).toEqual(new Set(['team']))
        await expect(requireRight(found, 'killswitches/activate', false)).rejects.toThrow(/all namespaces/)
        for (const right of ['approvals/answer', 'settings/update', 'records/get'] as const)
          await expect(requireRight(found, right, true)).rejects.toMatchObject({ code: 'forbidden' })
      },
    )

    test('is refused in time when they were never seen, and waits as before for other calls', async () => {
      const { state, callers } = world()
      state.review = away
      await expect(call(callers, true)).rejects.toThrow()
      if (away === hangs) return
      await call(callers, false).catch(() => undefined)
      await expect(call(callers, false)).rejects.toThrow()
    })

    test('is not authenticated once the cluster has rejected the token', async () => {
      const { state, callers } = world()
      await call(callers, false)
      await turn()
      state.isKnown = false
      expect(await call(callers, true)).toBeUndefined()
      state.review = away
      await expect(call(callers, true)).rejects.toThrow()
    })

    test('has no right that they did not have, nor after 12 hours', async () => {
      const { state, callers } = world(new Set())
      await call(callers, false)
      await turn()
      state.granted = 'all'
      state.review = away
      const found = await call(callers, true)
      if (found === undefined) throw new Error('no principal')
      await expect(requireRight(found, 'killswitches/activate', true)).rejects.toMatchObject({
        code: 'forbidden',
      })
      state.nowMs = 12 * 3_600_000 + 1
      await expect(call(callers, true)).rejects.toThrow()
    })
  })

  test('is checked where the cluster answers, with the rights of now', async () => {
    const { state, callers } = world()
    await call(callers, false)
    state.granted = new Set(['other'])
    const found = await call(callers, true)
    expect(found).toBeDefined()
    expect(found).not.toHaveProperty('restriction')
    if (found)
      expect((await requireRight(found, 'killswitches/activate', true)).namespaces).toEqual(
        new Set(['other']),
      )
  })

  test('causes few reviews of rights that no route needs', async () => {
    const { state, callers } = world()
    for (let at = 0; at < 200; at++) {
      state.nowMs += 1_000
      await call(callers, false)
      await turn()
    }
    expect(state.reviews).toBeLessThanOrEqual(4)
  })
})

test('a refusal of the cluster is an answer, which no memory replaces', async () => {
  const { state, callers } = world()
  await callers.byToken(jwt(LATER), '::1')
  await turn()
  state.review = () => Promise.reject(new ChaperoneError('forbidden', { detail: 'no' }))
  await expect(callers.byToken(jwt(LATER), '::1', true)).rejects.toMatchObject({ code: 'forbidden' })
})

test('an expired token counts no longer, and another token is another user', async () => {
  const { state, callers } = world()
  const expired = jwt(Math.floor(Date.now() / 1_000) - 1)
  for (const token of [expired, jwt(LATER)]) await callers.byToken(token, '::1')
  await turn()
  state.review = hangs
  await expect(callers.byToken(expired, '::1', true)).rejects.toMatchObject({ code: 'not_ready' })
  for (const other of [`${jwt(LATER)}x`, jwt(LATER).slice(0, -1), jwt(LATER).toUpperCase(), ''])
    await expect(callers.byToken(other, '::1', true)).rejects.toMatchObject({ code: 'not_ready' })
  expect(await callers.byToken(jwt(LATER), '::1', true)).toMatchObject({ restriction: 'unchecked' })
})

describe('the operator, whose token was reviewed', () => {
  const pod = { namespace: 'chaperone', serviceAccount: 'operator', name: 'p', uid: 'u' }
  function operator() {
    const state = { answer: answers, nowMs: 0, pod: pod as typeof pod | null }
    const tokens = createReviewedTokens({ review: () => state.answer(state.pod) }, () => state.nowMs)
    const identify = createOperatorIdentity({ tokens, account: { namespace: 'chaperone', name: 'operator' } })
    return { state, identify: (isUrgent: boolean, token = jwt(LATER)) => identify(token, '::1', isUrgent) }
  }

  test.each(AWAY)('relays kill switches while the API server %s', async (_, away) => {
    const { state, identify } = operator()
    expect(await identify(false)).toBe(true)
    state.nowMs = 14 * 60_000
    state.answer = away
    expect(await identify(true)).toBe(true)
    state.nowMs = 16 * 60_000
    await expect(identify(true)).rejects.toThrow()
    await expect(identify(true, jwt(LATER + 1))).rejects.toThrow()
  })

  test('is not authenticated once the cluster has rejected the token, or with an expired token', async () => {
    const { state, identify } = operator()
    const expired = jwt(Math.floor(Date.now() / 1_000) - 1)
    for (const token of [jwt(LATER), expired]) await identify(false, token)
    state.nowMs = 70_000
    state.answer = silent
    await expect(identify(true, expired)).rejects.toThrow()
    state.answer = answers
    state.pod = null
    expect(await identify(true)).toBe(false)
    state.answer = hangs
    expect(await identify(true)).toBe(false)
  })
})
