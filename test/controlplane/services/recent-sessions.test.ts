import type { FastifyRequest } from 'fastify'
import { describe, expect, test } from 'vitest'
import { sha256 } from '../../../controlplane/crypto/tokens.ts'
import { type AuthDeps, authenticate } from '../../../controlplane/http/auth.ts'
import { refuseRestricted } from '../../../controlplane/http/restriction.ts'
import { createIdentities } from '../../../controlplane/services/identities.ts'
import { createRecentSessions } from '../../../controlplane/services/recent-sessions.ts'
import type { Db } from '../../../controlplane/store/query.ts'

type Answer = () => Promise<{ readonly rows: readonly unknown[] }>

const row = (id: string, more: object = {}) => ({
  ...{ id: `usr_${id}`, email: `${id}@acme.test`, role: 'member', groups: [] },
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
  createIdentities({ db, podToken: null, operatorToken: null, vouchFor: async () => 'unchanged' })

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

  test('is forgotten once the database has said that it ended', async () => {
    const { db, state } = database(rows(row('anna')))
    const identities = identitiesOf(db)
    await identities.session(['anna'], undefined, false)
    state.answer = rows()
    expect(await identities.session(['anna'], undefined, false)).toBeUndefined()
    state.answer = fails
    await expect(identities.session(['anna'], undefined, true)).rejects.toThrow('away')
  })

  test('is forgotten after a quarter of an hour', async () => {
    const { db, state } = database(rows(row('anna')))
    let nowMs = 0
    const sessions = createRecentSessions(db, { nowMs: () => nowMs, patienceMs: 5 })
    await sessions.read([sha256('anna')])
    state.answer = fails
    nowMs = 15 * 60_000
    expect((await sessions.readSoon([sha256('anna')])).rows).toHaveLength(1)
    nowMs += 1
    await expect(sessions.readSoon([sha256('anna')])).rejects.toThrow('away')
  })

  test('is one of the last thousand', async () => {
    const { db, state } = database(rows(row('anna')))
    const sessions = createRecentSessions(db, { nowMs: () => 0, patienceMs: 5 })
    await sessions.read([sha256('anna')])
    for (let i = 0; i < 1_000; i++) {
      state.answer = rows(row(`other${i}`))
      await sessions.read([sha256(`other${i}`)])
    }
    state.answer = fails
    await expect(sessions.readSoon([sha256('anna')])).rejects.toThrow('away')
    expect((await sessions.readSoon([sha256('other0')])).rows).toHaveLength(1)
  })
})

describe('the admin token while nobody can say whether it is restricted', () => {
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
