import type { FastifyRequest } from 'fastify'
import { describe, expect, test } from 'vitest'
import type { Db } from '../../../controlplane/db/query.ts'
import { createRecentAnswers } from '../../../controlplane/features/authentication/recent-lookups.ts'
import { createIdentities } from '../../../controlplane/features/authentication/service.ts'
import { startSessionPreload } from '../../../controlplane/features/sessions/preload.ts'
import { type AuthDeps, authenticate } from '../../../controlplane/http/auth/authenticate.ts'
import { refuseRestricted } from '../../../controlplane/http/auth/restriction.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import { eventually } from '../../support/eventually.ts'

type Answer = () => Promise<{ readonly rows: readonly unknown[] }>

const row = (id: string, more: object = {}) => ({
  ...{ id: `usr_${id}`, email: `${id}@acme.test`, role: 'member', groups: [], lowerRoles: [] },
  ...{ idHash: sha256(id), pageSecretHash: null, ...more },
})
const rows =
  (...found: readonly unknown[]): Answer =>
  async () => ({ rows: found })
const hangs: Answer = () => new Promise(() => undefined)
const fails: Answer = () => Promise.reject(new Error('the database is away'))

/** A database that answers as the test says at the time. */
function database(first: Answer) {
  const state = { answer: first }
  const db = { query: () => state.answer() } as unknown as Db
  return { db, state }
}

const identitiesOf = (db: Db) =>
  createIdentities({
    db,
    podToken: null,
    operatorToken: null,
    clusterCallers: null,
    confirmAccess: async () => 'unchanged',
  })

describe('a session that this replica never saw', () => {
  const known = (id: string, more: object = {}) => ({ ...row(id), idleS: 60, ...more })
  test.each([
    ['hangs', hangs],
    ['fails', fails],
  ])(
    'activates a kill switch while the database %s, once the sessions in force were read',
    async (_what, away) => {
      const { db, state } = database(rows(known('anna'), known('bea', { pageSecretHash: sha256('page') })))
      const identities = identitiesOf(db)
      await identities.preloadSessions()
      state.answer = away
      for (const id of ['anna', 'bea']) {
        const found = await identities.session([id], undefined, true)
        expect(found).toMatchObject({ email: `${id}@acme.test`, restriction: 'unchecked' })
        expect(() => found && refuseRestricted(found)).toThrow(/can only activate the kill switch/)
      }
      await expect(identities.session(['carl'], undefined, true)).rejects.toThrow()
      if (away === fails) await expect(identities.session(['anna'], undefined, false)).rejects.toThrow()
    },
  )

  test('counts for 12 hours without a request, the time before the read included', async () => {
    let nowMs = 0
    const answers = createRecentAnswers<string>(hangs as never, { nowMs: () => nowMs, patienceMs: 5 })
    const hour = 3_600_000
    answers.remember([{ sha256: sha256('s'), value: 'anna', ageMs: 11 * hour }])
    expect((await answers(['s'], true)).found.get('s')).toBe('anna')
    nowMs = hour + 1
    await expect(answers(['s'], true)).rejects.toThrow()
  })

  test('replaces no newer answer, and 10,000 are remembered at most', async () => {
    const answers = createRecentAnswers<string>(
      async (secrets) => new Map(secrets.map((secret) => [secret, 'new'])),
      { patienceMs: 5 },
    )
    await answers(['s'], false)
    answers.remember([{ sha256: sha256('s'), value: 'old', ageMs: 1_000 }])
    const many = Array.from({ length: 9_999 }, (_, n) => ({ sha256: sha256(`m${n}`), value: 'x', ageMs: 0 }))
    answers.remember(many)
    expect((await answers(['s'], true)).found.get('s')).toBe('new')
    expect((await answers(['m5'], true)).isChecked).toBe(true)
  })

  test('is not read twice at once, and a read that fails is tried again', async () => {
    let reads = 0
    const warnings: unknown[] = []
    const pending = Promise.withResolvers<void>()
    const read = () => (reads++ === 0 ? Promise.reject(new Error('away')) : pending.promise)
    const preload = await startSessionPreload(
      read,
      { warn: (...args: unknown[]) => warnings.push(args) } as never,
      2,
    )
    await eventually('a second read', () => reads === 2)
    expect(warnings).toHaveLength(1)
    preload[Symbol.dispose]()
    pending.resolve()
  })
})

describe('a session that was checked lately', () => {
  test.each([
    ['hangs', hangs],
    ['fails', fails],
  ])('counts for an urgent request while the database %s, as unchecked', async (_what, away) => {
    const { db, state } = database(rows(row('anna')))
    const identities = identitiesOf(db)
    expect(await identities.session(['anna'], undefined, false)).toMatchObject({ email: 'anna@acme.test' })
    state.answer = away
    const found = await identities.session(['anna'], undefined, true)
    expect(found).toMatchObject({ email: 'anna@acme.test', role: 'member', restriction: 'unchecked' })
    if (found === undefined) throw new Error('no principal')
    expect(() => refuseRestricted(found)).toThrow(/can only activate the kill switch/)
  })

  test('is checked as before where the database answers', async () => {
    const identities = identitiesOf(database(rows(row('anna'))).db)
    const found = await identities.session(['anna'], undefined, true)
    expect(found?.restriction).toBeUndefined()
  })

  test('does not count for other requests, nor when it was never seen', async () => {
    const { db, state } = database(rows(row('anna')))
    const identities = identitiesOf(db)
    await identities.session(['anna'], undefined, false)
    state.answer = fails
    await expect(identities.session(['anna'], undefined, false)).rejects.toThrow('away')
    await expect(identities.session(['mallory'], undefined, true)).rejects.toThrow('away')
  })

  test('is evicted once the database has reported its end', async () => {
    const { db, state } = database(rows(row('anna')))
    const identities = identitiesOf(db)
    await identities.session(['anna'], undefined, false)
    state.answer = rows()
    expect(await identities.session(['anna'], undefined, false)).toBeUndefined()
    state.answer = fails
    await expect(identities.session(['anna'], undefined, true)).rejects.toThrow('away')
  })

  test('is chosen by role and age as the database says', async () => {
    const { db, state } = database(rows(row('older'), row('newer'), row('owner', { role: 'owner' })))
    const identities = identitiesOf(db)
    const emailOf = async (ids: readonly string[]) => (await identities.session(ids, undefined, false))?.email
    expect(await emailOf(['newer', 'older', 'owner'])).toBe('owner@acme.test')
    state.answer = rows(row('older'), row('newer'))
    expect(await emailOf(['newer', 'older', 'owner'])).toBe('older@acme.test')
    expect((await identities.session(['newer', 'older'], undefined, false))?.session?.id).toBe('older')
  })
})

describe('a cached answer', () => {
  const known = async (secrets: readonly string[]) => new Map(secrets.map((secret) => [secret, 'somebody']))
  const away = () => Promise.reject<Map<string, string>>(new Error('the database is away'))

  function answers() {
    const state = { lookup: known, nowMs: 0 }
    const options = { nowMs: () => state.nowMs, patienceMs: 5 }
    return { state, ask: createRecentAnswers((secrets) => state.lookup(secrets), options) }
  }

  test('counts for 12 hours after the question', async () => {
    const { state, ask } = answers()
    state.lookup = async (secrets) => {
      state.nowMs += 60_000
      return known(secrets)
    }
    await ask(['anna'], false)
    state.lookup = away
    state.nowMs = 12 * 3_600_000
    expect(await ask(['anna'], true)).toEqual({ found: new Map([['anna', 'somebody']]), isChecked: false })
    state.nowMs += 1
    await expect(ask(['anna'], true)).rejects.toThrow('away')
  })

  test('is one of the last ten thousand, however many unknown secrets were presented', async () => {
    const { state, ask } = answers()
    await ask(['anna'], false)
    for (let i = 0; i < 9_999; i++) await ask([`other${i}`], false)
    state.lookup = async () => new Map()
    for (let i = 0; i < 2_000; i++) await ask([`unknown${i}`], false)
    state.lookup = away
    expect((await ask(['anna'], true)).found.size).toBe(1)
    state.lookup = known
    await ask(['the next'], false)
    state.lookup = away
    await expect(ask(['anna'], true)).rejects.toThrow('away')
    expect((await ask(['other0', 'anna'], true)).found).toEqual(new Map([['other0', 'somebody']]))
  })

  test.each([
    ['never seen', []],
    ['seen too long ago', ['anna']],
  ])('is none for a secret that was %s: an urgent request is refused in time', async (_, seen) => {
    const { state, ask } = answers()
    await ask(seen, false)
    state.nowMs = 12 * 3_600_000 + 1
    state.lookup = () => new Promise(() => undefined)
    await expect(ask(['anna'], true)).rejects.toMatchObject({ code: 'not_ready' })
  })

  test('is that of the database when it comes in time, though it was asked before', async () => {
    const { state, ask } = answers()
    await ask(['anna'], false)
    state.lookup = async () => new Map()
    expect(await ask(['anna'], true)).toEqual({ found: new Map(), isChecked: true })
    state.lookup = away
    await expect(ask(['anna'], true)).rejects.toThrow('away')
  })
})

describe('the admin token while its restriction is unknown', () => {
  const given: Omit<AuthDeps, 'isTokenRestricted'> = {
    identify: identitiesOf(database(hangs).db),
    adminTokenHash: sha256('admin-secret'),
    operatorTokenHash: null,
    maintenanceSecretHash: null,
    publicUrl: null,
  }
  const request = { headers: { authorization: 'Bearer admin-secret' } } as FastifyRequest
  const route = { method: 'POST', auth: 'killswitches/activate' } as const

  test.each([
    ['hangs', () => new Promise<boolean>(() => undefined)],
    ['fails', () => Promise.reject<boolean>(new Error('the database is away'))],
  ])(
    'may activate the kill switch, and counts as restricted, where the database %s',
    async (_what, asked) => {
      const deps = { ...given, isTokenRestricted: asked }
      const admits = ['page_secret', 'machine_token', 'unchecked'] as const
      const found = await authenticate({ ...route, admits }, request, deps)
      expect(found).toMatchObject({ via: 'admin_token', restriction: 'machine_token' })
      expect(() => refuseRestricted(found)).toThrow(/session of a user/)
    },
  )

  test('waits for the database everywhere else', async () => {
    const deps = { ...given, isTokenRestricted: () => Promise.reject(new Error('the database is away')) }
    await expect(authenticate({ ...route, admits: ['machine_token'] }, request, deps)).rejects.toThrow('away')
  })
})
