import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { createOwnerLinks } from '../../../controlplane/features/users/owner-links/service.ts'
import { createRegistration } from '../../../controlplane/features/users/registration.ts'
import type { TestDatabase, TestPostgres } from '../../support/postgres.ts'
import { seeded, size } from '../../support/proof.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import {
  at,
  type Call,
  PASSWORD,
  register,
  startControlPlane,
  type TestControlPlane,
} from '../routes/start.ts'

const ROUNDS = size(3, 100)
const USERS = 50
/** The full proof is for a night, on a machine that may have other work. */
vi.setConfig({ testTimeout: size(240_000, 1_800_000) })

let server: TestPostgres
let template: TestDatabase

beforeAll(async () => {
  server = await workerPostgres()
  template = await server.createDatabase()
  const db = await openDb({ url: template.url, log: pino({ level: 'silent' }) })
  await migrate(db)
  await db.tx((q) => ensureOrg(q))
  await db.close()
})
afterAll(() => server?.stop())

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client.query(text).then(
    ({ rows }) => client.end().then(() => rows),
    (error: unknown) => client.end().then(() => Promise.reject(error)),
  )
}

/** A fresh installation: a copy of the template. Its connections belong to two replicas. */
async function round(number: number): Promise<readonly string[]> {
  const owner = new URL(template.url).username
  const name = `round_${number}`
  const copy = `create database ${name} template "${new URL(template.url).pathname.slice(1)}" owner ${owner}`
  await query(server.url, copy)
  const url = new URL(template.url)
  url.pathname = `/${name}`
  const log = pino({ level: 'silent' })
  const replicas = await Promise.all([1, 2].map(() => openDb({ url: url.href, log, max: 5 })))
  try {
    const { id: orgId } = await replicas[0]!.tx((q) => ensureOrg(q))
    const services = replicas.map((db) =>
      createRegistration({
        ...{ db, orgId, registration: 'open', isLoopback: true },
        ownerLinks: createOwnerLinks({ db, orgId, secret: null }),
        // What the real ones cost in time would keep the registrations apart.
        passwords: { hash: async () => 'scrypt$', verify: async () => false },
      }),
    )
    const users = await Promise.all(
      Array.from({ length: USERS }, (_, n) =>
        services[n % 2]!.register({
          ...{ email: `person${n}@example.com`, password: PASSWORD, name: 'X' },
          address: `10.0.0.${n}`,
        }),
      ),
    )
    const stored = await query(url.href, 'select role from users')
    expect(stored.map((row) => String(row['role'])).toSorted()).toEqual(
      users.map((row) => row.role).toSorted(),
    )
    const events = await query(
      url.href,
      "select count(*)::int as count from audit_events where event_type = 'user.registered'",
    )
    expect(events[0]?.['count']).toBe(USERS)
    return users.map(({ role }) => role)
  } finally {
    await Promise.all(replicas.map((db) => db.close()))
    await query(server.url, `drop database ${name}`)
  }
}

test(`${ROUNDS} times, of ${USERS} users who register at once at two replicas of a new installation exactly one becomes the owner`, async () => {
  for (let number = 0; number < ROUNDS; number++) {
    const roles = await round(number)
    expect(roles.toSorted(), `round ${number}`).toEqual(['owner', ...Array(USERS - 1).fill('viewer')])
  }
})

describe('with several owners at two replicas', () => {
  const OWNERS = 4
  const emails = Array.from({ length: OWNERS }, (_, n) => `owner${n}@example.com`)
  const replicas: TestControlPlane[] = []
  let database: TestDatabase
  const users = '/api/dashboard/users'

  beforeAll(async () => {
    database = await server.createDatabase()
    for (let n = 0; n < 2; n++) replicas.push(await startControlPlane(database, { LOG_LEVEL: 'silent' }))
    for (const email of emails) await register(replicas[0]!.call, email)
  })
  afterAll(() => Promise.all(replicas.map((plane) => plane.close())))

  const ids = async () => {
    const rows = await query(database.adminUrl, 'select id, email from users order by email')
    return rows.map((row) => String(row['id']))
  }
  /** All are owners again, and signed in, half of them at each replica. */
  async function signedIn(): Promise<readonly Call[]> {
    await query(
      database.adminUrl,
      "update users set role = 'owner', status = 'active'; delete from sign_in_failures",
    )
    return Promise.all(emails.map((email, n) => replicas[n % 2]!.signIn(email)))
  }
  const owners = async () => {
    const rows = await query(
      database.adminUrl,
      "select id from users where role = 'owner' and status = 'active'",
    )
    return rows.length
  }

  test('who end each other’s ownership at once, one is always left', async () => {
    const everybody = await ids()
    for (let n = 0; n < size(4, 50); n++) {
      const calls = await signedIn()
      const answers = await Promise.all(
        calls.flatMap((call, by) =>
          everybody
            .filter((_, whom) => whom !== by)
            .map((user_id) => call('POST', users, { action: 'change_role', user_id, role: 'viewer' })),
        ),
      )
      expect(await owners(), `round ${n}`).toBeGreaterThanOrEqual(1)
      for (const { status } of answers) expect([200, 401, 403]).toContain(status)
    }
  })

  test('who promote, demote, suspend and activate each other at random, one is always left and every change has one event', async () => {
    const random = seeded(20_261_121)
    const everybody = await ids()
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
    for (let n = 0; n < size(4, 50); n++) {
      const calls = await signedIn()
      const [last] = await query(database.adminUrl, 'select max(id)::int as id from audit_events')
      const before = await query(database.adminUrl, 'select id, role, status from users order by email')
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => {
          const action = pick(['change_role', 'change_role', 'suspend', 'activate'])
          const role = action === 'change_role' ? { role: pick(['owner', 'admin', 'viewer']) } : {}
          return pick(calls)('POST', users, { action, user_id: pick(everybody), ...role })
        }),
      )
      expect(await owners(), `round ${n}`).toBeGreaterThanOrEqual(1)
      for (const { status, text } of answers) expect([200, 401, 403], text).toContain(status)
      // The events, played upon what was, give what is.
      const state = new Map(before.map((row) => [row['id'], { role: row['role'], status: row['status'] }]))
      const events = await query(
        database.adminUrl,
        `select event_type, details from audit_events where id > ${last?.['id']} and event_type <> 'user.login' order by id`,
      )
      for (const { event_type, details } of events) {
        const user = state.get(at(details, 'user_id'))!
        if (event_type === 'user.role_changed') {
          expect(at(details, 'from')).toBe(user.role)
          user.role = at(details, 'to')
        } else {
          const status = event_type === 'user.suspended' ? 'suspended' : 'active'
          expect(user.status).not.toBe(status)
          user.status = status
        }
      }
      const after = await query(database.adminUrl, 'select id, role, status from users order by email')
      expect(after).toEqual(before.map(({ id }) => ({ id, ...state.get(id) })))
    }
  })
})
