import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { createUsers, type Users } from '../../../controlplane/features/users/service.ts'
import type { UserPrincipal } from '../../../controlplane/http/auth/authenticate.ts'
import { type Namespaces, RIGHTS, type Right, type Role } from '../../../core/wire/access/rights.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let postgres: TestPostgres
let db: Db
let orgId: string
let users: Users

beforeAll(async () => {
  postgres = await workerPostgres()
  const { url } = await postgres.createMigratedDatabase()
  db = await openDb({ url, log: pino({ level: 'silent' }) })
  orgId = (await db.tx((q) => ensureOrg(q))).id
  users = createUsers({ db, orgId })
})
afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})

const ALL = Object.keys(RIGHTS) as readonly Right[]
const rightsOf = (role: Role) =>
  ALL.filter((right) => RIGHTS[right].role === role && !right.startsWith('approverkeys/'))
const VIEWER = rightsOf('viewer')
const MEMBER = [...VIEWER, ...rightsOf('member')]
const ADMIN = [...MEMBER, ...rightsOf('admin')]

/** A caller of the cluster whose RBAC gives them these rights everywhere, and those in a namespace. */
function caller(everywhere: readonly Right[], within: Readonly<Record<string, readonly Right[]>> = {}) {
  const held = async (right: Right, reach: 'cluster' | 'namespaces'): Promise<Namespaces> => {
    if (everywhere.includes(right)) return 'all'
    if (reach === 'cluster') return new Set()
    return new Set(Object.keys(within).filter((name) => within[name]?.includes(right)))
  }
  const by: UserPrincipal = {
    ...{ kind: 'user', userId: 'cluster:ann', email: 'ann', groups: [], via: 'cluster', namespaces: 'all' },
    role: everywhere.includes('settings/update') ? 'admin' : 'member',
    clusterRights: held,
  }
  return by
}

type Fields = { readonly role?: Role; readonly namespaces?: string[]; readonly lower?: object[] }
async function account({ role = 'viewer', namespaces, lower = [] }: Fields = {}, status = 'active') {
  const id = newId('user')
  await db.query(
    `insert into users (id, org_id, email, name, role, password_hash, groups, status, namespaces, lower_roles)
     values ($1, $2, $3, 'A', $4, 'x', '{}', $5, $6, $7)`,
    [id, orgId, `${id}@example.com`, role, status, namespaces ?? null, JSON.stringify(lower)],
  )
  return id
}
const USERS: readonly Right[] = ['users/get', 'users/update']
const outcome = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error as { code?: string }).code,
  )

describe('a caller of the cluster with the right to update users', () => {
  test('invites, changes, suspends and activates users, under their own name', async () => {
    const by = caller(ADMIN)
    const id = await account()
    expect(await users.invite(by, 'new@example.com', 'admin')).toMatch(/^[\w-]{43}$/)
    expect(await users.changeRole(by, id, 'admin')).toMatchObject({ role: 'admin' })
    expect(await users.setGroups(by, id, ['ops'])).toMatchObject({ groups: ['ops'] })
    expect(await users.suspend(by, id)).toMatchObject({ status: 'suspended' })
    expect(await users.activate(by, id)).toMatchObject({ status: 'active' })
    const { rows } = await db.query(
      "select distinct user_id from audit_events where event_type like 'user.%' and details->>'user_id' = $1",
      [id],
    )
    expect(rows).toEqual([{ user_id: 'cluster:ann' }])
  })

  test.each<[string, readonly Right[], Role, string]>([
    ['every right of an admin', ADMIN, 'admin', 'done'],
    ['every right of a member', [...MEMBER, ...USERS], 'admin', 'forbidden'],
    ['every right of a member', [...MEMBER, ...USERS], 'member', 'done'],
    ['every right of a viewer', [...VIEWER, ...USERS], 'member', 'forbidden'],
    ['every right of a viewer', [...VIEWER, ...USERS], 'viewer', 'done'],
    ['that right alone', USERS, 'viewer', 'forbidden'],
    ['all but one of an admin', ADMIN.filter((right) => right !== 'credentials/set'), 'admin', 'forbidden'],
    ['every right of an admin', ADMIN, 'owner', 'forbidden'],
  ])('and $0 gives the role $2: $3', async (_what, rights, role, wanted) => {
    const by = caller(rights)
    expect(await outcome(users.invite(by, 'some@example.com', role))).toBe(wanted)
    const id = await account({ role: role === 'viewer' ? 'member' : 'viewer' })
    expect(await outcome(users.changeRole(by, id, role))).toBe(wanted)
    if (role === 'owner') return
    const suspended = await account({ role }, 'suspended')
    expect(await outcome(users.activate(by, suspended))).toBe(wanted)
  })

  test('gives no user approver groups in a namespace where the caller may not answer', async () => {
    const id = await account({ role: 'member' })
    await users.setGroups(caller(ADMIN), id, ['ops', 'security'])
    const by = caller([...VIEWER, ...USERS])
    expect(await outcome(users.setGroups(by, id, ['ops', 'security', 'finance']))).toBe('forbidden')
    expect(await users.setGroups(by, id, ['ops'])).toMatchObject({ groups: ['ops'] })
  })

  test('activates a user of some namespaces with the rights of these namespaces', async () => {
    const admin = ADMIN.filter((right) => 'isNamespaced' in RIGHTS[right])
    const user = {
      role: 'admin',
      namespaces: ['team-a'],
      lower: [{ role: 'viewer', namespaces: null }],
    } as const
    const fields = { role: user.role, namespaces: [...user.namespaces], lower: [...user.lower] }
    const activate = async (by: UserPrincipal) =>
      outcome(users.activate(by, await account(fields, 'suspended')))
    expect(await activate(caller([...VIEWER, ...USERS], { 'team-a': admin }))).toBe('done')
    expect(await activate(caller([...VIEWER, ...USERS], { 'team-b': admin }))).toBe('forbidden')
    // The role that they have everywhere.
    expect(await activate(caller(USERS, { 'team-a': admin }))).toBe('forbidden')
  })

  test('ends no ownership, and removes access that other users gave', async () => {
    const by = caller([...VIEWER, ...USERS])
    const owner = await account({ role: 'owner' })
    expect(await outcome(users.suspend(by, owner))).toBe('forbidden')
    expect(await outcome(users.changeRole(by, owner, 'viewer'))).toBe('forbidden')
    const admin = await account({ role: 'admin' })
    expect(await outcome(users.suspend(by, admin))).toBe('done')
  })
})

test.each([
  ['is an admin of some namespaces', "namespaces = '{team-a}'"],
  ['is a member', "role = 'member'"],
  ['is suspended', "status = 'suspended'"],
  [
    'is removed at the identity provider',
    `email = email; insert into user_identities (user_id, issuer, subject, tokens)
     select id, 'https://idp.example', id, null from users`,
  ],
])('an admin who %s since the request began changes no user', async (_what, change) => {
  const userId = await account({ role: 'admin' })
  const target = await account()
  const where = ` where id = '${userId}'`
  for (const statement of change.split(';')) {
    const text = statement.includes('insert') ? statement + where : `update users set ${statement}${where}`
    await db.query(text)
  }
  const by: UserPrincipal = {
    ...{ kind: 'user', userId, email: 'a@example.com', groups: [], via: 'session', namespaces: 'all' },
    role: 'admin',
  }
  expect(await outcome(users.changeRole(by, target, 'admin'))).toBe('forbidden')
  expect(await outcome(users.invite(by, 'late@example.com', 'viewer'))).toBe('forbidden')
  expect(await outcome(users.suspend(by, target))).toBe('forbidden')
})
