import pino from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { createReviewedTokens } from '../../../controlplane/features/authentication/cluster/reviewed-tokens.ts'
import type { ReviewedPod } from '../../../controlplane/features/authentication/cluster/token-review.ts'
import { createPodIdentities } from '../../../controlplane/features/pods/service.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { type PodWorld, startPodWorld } from './pod-world.ts'

const log = pino({ level: 'silent' })
let world: PodWorld
let db: Db
let orgId: string
beforeAll(async () => {
  world = await startPodWorld()
  await world.apply('Gateway', 'team', 'gateway', {})
  db = await openDb({ url: world.database.url, log })
  orgId = (await db.tx((q) => ensureOrg(q))).id
})
afterAll(async () => {
  await db?.close()
  await world?.[Symbol.asyncDispose]()
})

/** What the cluster answers to a review now. */
let answer: () => Promise<ReviewedPod | null>
let now = 0
beforeEach(() => {
  now = 0
})

/** The session of a pod whose token expires in `expiresInS`. */
async function sessionOf(expiresInS: number) {
  const pod = world.pod()
  await world.report({ pod })
  answer = async () => pod
  const tokens = createReviewedTokens({ review: () => answer() }, () => now)
  const pods = createPodIdentities({ db, orgId, tokens, log })
  const token = world.kube.tokenOf(pod, undefined, { exp: Math.floor(Date.now() / 1_000) + expiresInS })
  const principal = await pods.identify(token, { isFresh: true, address: '192.0.2.1' })
  if (principal === undefined) throw new Error('not identified')
  return { pod, pods, token, review: () => principal.review() }
}

const silence = () => Promise.reject(new ChaperoneError('not_ready', { retryAfterS: 2 }))

test.each([
  ['long before its expiry', 3_600],
  ['shortly before its expiry', 30],
  ['after its expiry', -3_600],
])('a silent API server ends no session, %s of the token', async (_when, expiresInS) => {
  const one = await sessionOf(expiresInS)
  answer = silence
  await expect(one.review()).rejects.toThrow(ChaperoneError)
  answer = async () => one.pod
  expect(await one.review()).toBe('valid')
})

test.each([
  ['invalid', 'long before its expiry', 3_600],
  ['stale', 'shortly before its expiry', 30],
  ['stale', 'after its expiry', -3_600],
])('a rejected token is %s %s', async (state, _when, expiresInS) => {
  const one = await sessionOf(expiresInS)
  answer = async () => null
  expect(await one.review()).toBe(state)
})

test('a token of another pod than the session was opened for is invalid', async () => {
  const one = await sessionOf(3_600)
  answer = async () => ({ ...one.pod, uid: 'uid-of-another' })
  expect(await one.review()).toBe('invalid')
})

test('the calls of a session go on while the API server is silent, until its token expires', async () => {
  const one = await sessionOf(3_600)
  answer = silence
  now += 20 * 60_000
  const call = { isFresh: false, address: '192.0.2.1' }
  expect(await one.pods.identify(one.token, call)).toMatchObject({ podUid: one.pod.uid, reviewAgeMs: now })
  await expect(one.pods.identify(one.token, { ...call, isFresh: true })).rejects.toThrow(ChaperoneError)
  await world.report({ pod: one.pod, deleted: true })
  await one.pods.ended([])
  await expect(one.pods.identify(one.token, call)).rejects.toThrow('is deleted')
})

test('a pod that is deleted while a call of it is identified is not identified again', async () => {
  const pod = world.pod()
  await world.report({ pod })
  const slow: Db = {
    ...db,
    async tx(work) {
      const bound = await db.tx(work)
      await world.report({ pod, deleted: true })
      await pods.ended([])
      return bound
    },
  }
  const tokens = createReviewedTokens({ review: async () => pod }, () => now)
  const pods = createPodIdentities({ db: slow, orgId, tokens, log })
  const call = { isFresh: false, address: '192.0.2.1' }
  const token = world.kube.tokenOf(pod)
  expect(await pods.identify(token, call)).toMatchObject({ podUid: pod.uid })
  await expect(pods.identify(token, call)).rejects.toThrow('is deleted')
})

describe.each([
  ['the API server hangs', 'cluster'],
  ['the database hangs', 'database'],
] as const)('the sidecar of a pod that was identified, while %s', (_, away) => {
  const hangs = () => new Promise<never>(() => undefined)

  async function later() {
    const pod = world.pod()
    await world.report({ pod })
    let isHanging = false
    const hanging: Db = {
      ...db,
      query: (...given) => (isHanging && away === 'database' ? hangs() : db.query(...given)),
      tx: (work) => (isHanging && away === 'database' ? hangs() : db.tx(work)),
    }
    const review = async () => (isHanging && away === 'cluster' ? hangs() : pod)
    const tokens = createReviewedTokens({ review }, () => now)
    const pods = createPodIdentities({ db: hanging, orgId, tokens, log }, () => now)
    const token = world.kube.tokenOf(pod, undefined, { exp: Math.floor(Date.now() / 1_000) + 3_600 })
    const identify = (isUrgent: boolean, shown = token) =>
      pods.identify(shown, { isFresh: false, isUrgent, address: '192.0.2.1' })
    const first = await identify(false)
    isHanging = true
    now += 20 * 60_000
    const openStream = () => pods.identify(token, { isFresh: true, address: '192.0.2.1' })
    return { pod, identify, openStream, first }
  }

  test('acknowledges a kill switch', async () => {
    const { identify, first } = await later()
    expect(await identify(true)).toMatchObject({ podUid: first?.podUid, agent: first?.agent })
  })

  test('acknowledges a kill switch in time after attempts to open another stream, and other calls', async () => {
    const { identify, openStream, first } = await later()
    let isWaiting = true
    const ended = () => {
      isWaiting = false
    }
    openStream().then(ended, ended)
    void identify(false)
    expect(await identify(true)).toMatchObject({ podUid: first?.podUid, agent: first?.agent })
    // In time: it did not wait for what waits.
    expect(isWaiting).toBe(true)
  })

  test('with another token of it is refused in time where that was never seen', async () => {
    const { pod, identify } = await later()
    const other = world.kube.tokenOf(pod, undefined, { exp: Math.floor(Date.now() / 1_000) + 1_800 })
    if (away === 'cluster') await expect(identify(true, other)).rejects.toMatchObject({ code: 'not_ready' })
  })
})
