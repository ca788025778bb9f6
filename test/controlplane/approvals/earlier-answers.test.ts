import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import { createConfirmAnswer } from '../../../controlplane/features/approvals/answers/earlier-answers.ts'
import { createAnswerRight } from '../../../controlplane/features/authentication/cluster/answer-right.ts'
import type { UserPrincipal } from '../../../controlplane/http/auth/authenticate.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { type Enrolled, holdBody, person, type Replica, startWorld, type World } from '../sync/harness.ts'

let world: World
let replica: Replica
let gateway: Enrolled
/** What RBAC denies, as `user resource namespace`; null = the API server does not answer. */
let denied: ReadonlySet<string> | null = new Set()
let asked: object[] = []
let duringConfirmation: (() => Promise<unknown>) | null = null

type Review = {
  readonly spec: {
    readonly user: string
    readonly resourceAttributes: { readonly resource: string; readonly namespace: string }
  }
}
const kube = {
  async create(_path: string, object: object): Promise<unknown> {
    if (denied === null) throw new ChaperoneError('not_ready', { retryAfterS: 2 })
    const { user, resourceAttributes: at } = (object as Review).spec
    asked.push((object as Review).spec)
    return { status: { allowed: !denied.has(`${user} ${at.resource} ${at.namespace}`) } }
  },
}

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica({
    confirmAnswer: (db) => {
      const confirm = createConfirmAnswer({
        db,
        hasAnswerRight: createAnswerRight({ db, kube }),
        confirmAccess: async () => 'unchanged',
      })
      return async (...given) => {
        await duringConfirmation?.()
        return confirm(...given)
      }
    },
  })
  gateway = await replica.enrol('agents/main')
})
afterAll(() => world.stop())
beforeEach(() => {
  denied = new Set()
  asked = []
  duringConfirmation = null
})

const SETS = [['security'], ['finance']]

async function hold(): Promise<string> {
  const required_groups = SETS.map((groups, at) => ({ policy: `p-${at}`, groups, distinct: false }))
  const agent = `agents/${newId('agent')}`
  await replica.command(gateway, 'agents.register', { name: agent })
  const binding = newId('hold').padEnd(64, '0').slice(-64)
  const body = holdBody({ binding, agent, required_groups, required_approver_groups: SETS.flat() })
  const reply = await replica.gateway(gateway, 'POST', '/api/gateway/holds', body)
  return (reply.body['approval'] as ApprovalCard).id
}
const answer = async (id: string, who: UserPrincipal, approved = true) => {
  const reply = await replica.user(who, 'POST', '/api/dashboard/proxy-approvals', { id, approved })
  return reply.status === 200 ? reply.body['status'] : reply.status
}
const users = async (id: string) => {
  const { rows } = await replica.db.query<{ by: string[] }>(
    `select coalesce((select jsonb_agg(one->>'by') from jsonb_array_elements(answers) as one), '[]') as by
     from approvals where id = $1`,
    [id],
  )
  return rows[0]?.by
}
/** What the audit event of each answer says of earlier ones. */
const voidInAudit = async (id: string) => {
  const { rows } = await replica.db.query<{ names: string[] | null }>(
    `select details->'void_answers' as names from audit_events
     where event_type = 'approval.responded' and details->>'approval_id' = $1 order by id`,
    [id],
  )
  return rows.map(({ names }) => names)
}
const cluster = (username: string, groups: readonly string[], more: Partial<UserPrincipal> = {}) =>
  person({
    ...{ userId: `cluster:${username}`, email: username, groups, via: 'cluster', clusterCredential: 'token' },
    clusterUser: { username, uid: 'u-1', groups: [...groups, 'staff'], extra: { scopes: ['a'] } },
    ...more,
  })

async function account(role: string, groups: readonly string[]): Promise<UserPrincipal> {
  const userId = newId('user')
  const email = `${userId}@example.com`
  await replica.db.query(
    "insert into users (id, org_id, email, name, role, password_hash, groups) values ($1, $2, $3, 'A', $4, 'x', $5)",
    [userId, replica.orgId, email, role, groups],
  )
  return person({ userId, email, groups, role: role as UserPrincipal['role'] })
}

test('an earlier answer of a user of the cluster counts while RBAC gives them the right, with all their attributes', async () => {
  const id = await hold()
  expect(await answer(id, cluster('ann', ['security']))).toBe('pending')
  expect(await answer(id, cluster('bob', ['finance']))).toBe('approved')
  expect(asked).toEqual([
    {
      ...{ user: 'ann', uid: 'u-1', groups: ['security', 'staff'], extra: { scopes: ['a'] } },
      resourceAttributes: {
        ...{ group: 'chaperone.dev', resource: 'approvals', verb: 'answer', namespace: 'agents' },
      },
    },
  ])
})

test('an earlier answer of a user of the cluster whose right was withdrawn since does not count', async () => {
  const id = await hold()
  expect(await answer(id, cluster('ann', ['security']))).toBe('pending')
  denied = new Set(['ann approvals agents'])
  expect(await answer(id, cluster('bob', ['finance']))).toBe('pending')
  expect(await users(id)).toEqual(['bob'])
  expect(await voidInAudit(id)).toEqual([null, ['ann']])
  denied = new Set()
  expect(await answer(id, cluster('ann', ['security']))).toBe('approved')
})

test.each([
  ['is still an admin', [], 'approved'],
  ['is no admin any more', ['ann settings '], 'pending'],
] as const)('an answer of an admin for a group without members, who %s', async (_what, rights, status) => {
  const id = await hold()
  // Both groups have no account; bob is no admin.
  const asAdmin = cluster('ann', ['security'], { role: 'admin' })
  const early = { ...asAdmin, clusterUser: { username: 'ann', groups: ['staff'] } }
  await replica.db.query('update approvals set required_groups = $2 where id = $1', [
    id,
    JSON.stringify([...SETS, ['ops']].map((groups) => ({ policy: 'p', groups, distinct: true }))),
  ])
  expect(await answer(id, early)).toBe('pending')
  denied = new Set(rights)
  expect(await answer(id, cluster('bob', ['finance']))).toBe('pending')
  expect(await answer(id, cluster('cy', ['ops']))).toBe(status)
})

test('while the API server does not answer, an earlier answer neither counts nor is lost, and anybody denies', async () => {
  const [id, other] = [await hold(), await hold()]
  for (const each of [id, other]) expect(await answer(each, cluster('ann', ['security']))).toBe('pending')
  denied = null
  expect(await answer(id, cluster('bob', ['finance']))).toBe(503)
  expect(await users(id)).toEqual(['ann'])
  expect(await answer(other, cluster('bob', ['finance']), false)).toBe('denied')
  // The reply for the id of a foreign approval equals the reply for an unknown id.
  const foreign = cluster('eve', ['finance'], { roleNamespaces: new Set(['elsewhere']) })
  expect(await answer(id, foreign)).toBe(404)
  denied = new Set()
  expect(await answer(id, cluster('bob', ['finance']))).toBe('approved')
})

const NARROWED: ReadonlyArray<readonly [string, string]> = [
  ['is a viewer', "role = 'viewer'"],
  ['has a role in another namespace only', "namespaces = '{elsewhere}'"],
  ['is suspended', "status = 'suspended'"],
  [
    'is an admin of another namespace and a viewer here',
    `namespaces = '{elsewhere}', role = 'admin', lower_roles = '[{"role":"viewer","namespaces":["agents"]}]'`,
  ],
]
test.each(NARROWED)('a user who %s since the request began answers nothing', async (_what, change) => {
  const id = await hold()
  expect(await answer(id, cluster('ann', ['security']))).toBe('pending')
  const late = await account('member', ['finance'])
  duringConfirmation = () => replica.db.query(`update users set ${change} where id = $1`, [late.userId])
  expect(await answer(id, late)).toBe(404)
  expect(await users(id)).toEqual(['ann'])
})

test('no user answers for a group that was removed since the request began', async () => {
  const id = await hold()
  expect(await answer(id, cluster('ann', ['security']))).toBe('pending')
  const late = await account('member', ['finance'])
  duringConfirmation = () => replica.db.query("update users set groups = '{}' where id = $1", [late.userId])
  expect(await answer(id, late)).toBe(403)
  expect(await users(id)).toEqual(['ann'])
})

test.each([
  "role = 'member'",
  `namespaces = '{agents}'`,
  `namespaces = '{agents}', lower_roles = '[{"role":"member","namespaces":null}]'`,
])('an admin who since the request began has %s stands for no group without members', async (change) => {
  const id = await hold()
  expect(await answer(id, cluster('ann', ['security']))).toBe('pending')
  const late = await account('admin', [])
  duringConfirmation = () => replica.db.query(`update users set ${change} where id = $1`, [late.userId])
  expect(await answer(id, late)).toBe(403)
  expect(await users(id)).toEqual(['ann'])
})

describe('an approval that the gateway has not used yet', () => {
  const UNUSED: ReadonlyArray<readonly [string, string | null]> = [
    ['is still an approver', null],
    ['is suspended', "update users set status = 'suspended'"],
    ['is a viewer', "update users set role = 'viewer'"],
    ['has a role in another namespace only', "update users set namespaces = '{elsewhere}'"],
    ['left the group', "update users set groups = '{}'"],
  ]
  test.each(UNUSED)('of a user who %s since', async (_what, change) => {
    const by = await account('member', ['security', 'finance'])
    const required_groups = SETS.map((groups) => ({ policy: 'p', groups, distinct: false }))
    const agent = `agents/${newId('agent')}`
    await replica.command(gateway, 'agents.register', { name: agent })
    const binding = newId('hold').padEnd(64, '0').slice(-64)
    const ask = async () => {
      const body = holdBody({ binding, agent, required_groups, required_approver_groups: SETS.flat() })
      return (await replica.gateway(gateway, 'POST', '/api/gateway/holds', body)).body
    }
    const { id } = (await ask())['approval'] as ApprovalCard
    expect(await answer(id, by)).toBe('approved')
    if (change !== null) await replica.db.query(`${change} where id = $1`, [by.userId])
    const isUsable = change === null
    expect(await ask()).toMatchObject({ outcome: isUsable ? 'approved' : 'created' })
    const spent = await replica.gateway(gateway, 'POST', `/api/gateway/holds/${id}/spend`, { binding })
    expect(spent.body).toEqual({ spent: isUsable, status: 'approved' })
  })
})

describe('an approval of an admin that the gateway has not used yet', () => {
  const ADMINS: ReadonlyArray<readonly [string, readonly string[], readonly string[] | null, boolean]> = [
    ['is in the groups', ['legal', 'audit'], null, true],
    ['left groups that have no members', ['empty', 'idle'], [], true],
    ['left a group that has members', ['security', 'audit'], ['audit'], false],
    ['stood for groups without members', [], null, true],
  ]
  test.each(ADMINS)('who %s', async (_what, groups, now, isUsable) => {
    await account('member', ['security'])
    const by = await account('admin', groups)
    const sets = groups.length === 0 ? [['nobody'], ['no-one']] : groups.map((group) => [group])
    const required_groups = sets.map((set) => ({ policy: 'p', groups: set, distinct: false }))
    const agent = `agents/${newId('agent')}`
    await replica.command(gateway, 'agents.register', { name: agent })
    const binding = newId('hold').padEnd(64, '0').slice(-64)
    const body = holdBody({ binding, agent, required_groups, required_approver_groups: sets.flat() })
    const held = await replica.gateway(gateway, 'POST', '/api/gateway/holds', body)
    const { id } = held.body['approval'] as ApprovalCard
    expect(await answer(id, by)).toBe('approved')
    if (now !== null) await replica.db.query('update users set groups = $2 where id = $1', [by.userId, now])
    const spent = await replica.gateway(gateway, 'POST', `/api/gateway/holds/${id}/spend`, { binding })
    expect(spent.body).toEqual({ spent: isUsable, status: 'approved' })
  })
})
