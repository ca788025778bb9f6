import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import type { UserPrincipal } from '../../../controlplane/http/auth/authenticate.ts'
import type { ApprovalCard, RequiredGroupsView } from '../../../core/wire/gateway/internal.ts'
import {
  auditOf,
  type Enrolled,
  holdBody,
  openStream,
  person,
  type Replica,
  startWorld,
  type World,
} from '../sync/harness.ts'

let world: World
let replica: Replica
let second: Replica
let gateway: Enrolled

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  second = await world.replica()
  gateway = await replica.enrol('default/local')
})
afterAll(() => world.stop())

/** `security+finance`: two policies. `a/b`: one policy with two groups. `!` behind it: distinct. Empty: no group. */
function requiredOf(text: string): RequiredGroupsView[] {
  return text.split('+').map((set, index) => ({
    policy: `policy-${index}`,
    groups: set.replace('!', '').split('/').filter(Boolean),
    distinct: set.endsWith('!'),
  }))
}

async function hold(text: string): Promise<{ id: string; binding: string; act: string }> {
  const required_groups = requiredOf(text)
  const binding = newId('hold').padEnd(64, '0').slice(-64)
  const body = holdBody({
    binding,
    agent: newId('agent'),
    required_groups,
    required_approver_groups: [...new Set(required_groups.flatMap(({ groups }) => groups))],
  })
  const reply = await replica.gateway(gateway, 'POST', '/api/gateway/holds', body)
  const { id } = reply.body['approval'] as ApprovalCard
  return { id, binding, act: body.act_id }
}

const member = (...groups: string[]) => person({ groups, email: `${groups.join('-')}@example.com` })
const answer = (id: string, who: UserPrincipal, approved = true, on = replica) =>
  on.user(who, 'POST', '/api/dashboard/proxy-approvals', { id, approved, note: 'looked at it' })
const spend = async ({ id, binding }: { id: string; binding: string }) =>
  (await replica.gateway(gateway, 'POST', `/api/gateway/holds/${id}/spend`, { binding })).body
const cardOf = async (id: string): Promise<ApprovalCard> => {
  const { body } = await replica.user(person(), 'GET', '/api/dashboard/proxy-approvals?limit=500')
  return (body['approvals'] as ApprovalCard[]).find((card) => card.id === id)!
}

/** Groups have members, so that no admin stands in for them. */
beforeAll(async () => {
  for (const group of ['security', 'finance', 'audit', 'ops'])
    await replica.db.query(
      "insert into users (id, org_id, email, name, role, password_hash, groups) values ($1, $2, $3, 'R', 'member', 'x', $4)",
      [newId('user'), replica.orgId, `${group}-staff@example.com`, [group]],
    )
})

test('two policies that hold need an answer for each; until then nothing is released', async () => {
  const held = await hold('security+finance')
  expect(await answer(held.id, member('security'))).toMatchObject({
    status: 200,
    body: { ok: true, id: held.id, status: 'pending', answered_groups: ['security'] },
  })
  expect(await spend(held)).toEqual({ spent: false, status: 'pending' })
  expect(await cardOf(held.id)).toMatchObject({
    status: 'pending',
    required_approver_groups: ['security', 'finance'],
    required_groups: [
      { policy: 'policy-0', groups: ['security'], distinct: false, answered_by: 'security@example.com' },
      { policy: 'policy-1', groups: ['finance'], distinct: false, answered_by: null },
    ],
    answered_groups: ['security'],
    answers: [{ by: 'security@example.com', approved: true, groups: ['security'], note: 'looked at it' }],
    responded_by: null,
  })
  expect((await answer(held.id, member('finance'))).body).toEqual({
    ok: true,
    id: held.id,
    status: 'approved',
  })
  expect(await spend(held)).toEqual({ spent: true, status: 'approved' })
  expect(await cardOf(held.id)).toMatchObject({
    responded_by: 'security@example.com, finance@example.com',
    answered_groups: ['security', 'finance'],
  })
  const events = await auditOf(replica.db, held.act)
  expect(events.map(({ type }) => type)).toEqual([
    'action.requested',
    'action.pending_approval',
    'approval.responded',
    'approval.responded',
  ])
  expect(events.slice(2).map(({ details }) => [details['responded_by'], details['approval_status']])).toEqual(
    [
      ['security@example.com', 'pending'],
      ['finance@example.com', 'approved'],
    ],
  )
})

type Answer = readonly [groups: string, status: number, state?: string]
const CASES: ReadonlyArray<readonly [required: string, answers: readonly Answer[]]> = [
  ['security', [['security', 200, 'approved']]],
  ['security/finance', [['finance', 200, 'approved']]],
  ['security+finance', [['security finance', 200, 'approved']]],
  ['security+security', [['security', 200, 'approved']]],
  [
    'security+finance',
    [
      ['ops', 403],
      ['', 403],
      ['finance', 200, 'pending'],
      ['ops', 403],
      ['security', 200, 'approved'],
    ],
  ],
  [
    'security+finance',
    [
      ['security', 200, 'pending'],
      ['security', 200, 'pending'],
      ['security', 200, 'pending'],
    ],
  ],
  ['security/audit+finance/audit', [['audit', 200, 'approved']]],
  [
    'security/audit+finance/ops',
    [
      ['audit', 200, 'pending'],
      ['security', 200, 'pending'],
      ['ops', 200, 'approved'],
    ],
  ],
  [
    'security+finance+audit',
    [
      ['security', 200, 'pending'],
      ['audit', 200, 'pending'],
      ['finance', 200, 'approved'],
    ],
  ],
  [
    'security+finance+audit',
    [
      ['security audit', 200, 'pending'],
      ['finance', 200, 'approved'],
    ],
  ],
  ['security+', [['security', 200, 'approved']]],
  [
    'security+',
    [
      ['ops', 200, 'pending'],
      ['security', 200, 'approved'],
    ],
  ],
  ['', [['', 200, 'approved']]],
  ['security!', [['security', 200, 'approved']]],
  ['!', [['', 200, 'approved']]],
  [
    'security!+finance',
    [
      ['security finance', 200, 'pending'],
      ['finance', 200, 'approved'],
    ],
  ],
  [
    'security+finance!',
    [
      ['security finance', 200, 'pending'],
      ['security', 200, 'approved'],
    ],
  ],
  [
    'security!+finance!',
    [
      ['security', 200, 'pending'],
      ['security', 200, 'pending'],
      ['finance', 200, 'approved'],
    ],
  ],
  [
    'security!+security!',
    [
      ['security', 200, 'pending'],
      ['security', 200, 'approved'],
    ],
  ],
  [
    'security!+',
    [
      ['security', 200, 'pending'],
      ['', 200, 'approved'],
    ],
  ],
  [
    'security!+finance!+audit!',
    [
      ['security finance', 200, 'pending'],
      ['security audit', 200, 'pending'],
      ['security', 200, 'approved'],
    ],
  ],
  [
    'security!+finance!+audit!',
    [
      ['security', 200, 'pending'],
      ['security finance audit', 200, 'pending'],
      ['security', 200, 'pending'],
      ['audit', 200, 'approved'],
    ],
  ],
  [
    'SECURITY+finance',
    [
      ['security', 403],
      ['finance', 200, 'pending'],
    ],
  ],
  [
    'security+finance',
    [
      ['security,finance', 403],
      ['security', 200, 'pending'],
    ],
  ],
]

test.each(CASES)('%s is answered by %j', async (required, answers) => {
  const held = await hold(required)
  for (const [groups, status, state] of answers) {
    const reply = await answer(held.id, member(...groups.split(' ').filter(Boolean)))
    expect([groups, reply.status, reply.body['status']]).toEqual([groups, status, state])
    const expected = state === 'approved'
    if (!expected) expect(await spend(held)).toEqual({ spent: false, status: 'pending' })
  }
  if (answers.at(-1)?.[2] === 'approved')
    expect(await spend(held)).toEqual({ spent: true, status: 'approved' })
})

describe('an answer among several', () => {
  test('one deny denies, whatever the earlier answers are, and no later answer counts', async () => {
    const held = await hold('security+finance')
    await answer(held.id, member('security'))
    expect((await answer(held.id, member('ops'), false)).status).toBe(403)
    expect((await answer(held.id, member('finance'), false)).body).toMatchObject({ status: 'denied' })
    expect(await spend(held)).toEqual({ spent: false, status: 'denied' })
    expect((await answer(held.id, member('finance'))).status).toBe(409)
    expect(await cardOf(held.id)).toMatchObject({ status: 'denied', responded_by: 'finance@example.com' })
  })

  test('of the same person is 409, in every form', async () => {
    const held = await hold('security+finance')
    const ann = member('security')
    await answer(held.id, ann)
    for (const again of [
      ann,
      { ...ann, groups: ['finance'] },
      { ...ann, email: 'other@example.com', groups: ['finance'] },
    ])
      for (const approved of [true, false])
        expect(await answer(held.id, again, approved, second)).toMatchObject({ status: 409 })
    expect((await cardOf(held.id)).answers).toHaveLength(1)
    expect(await spend(held)).toEqual({ spent: false, status: 'pending' })
  })

  test('of an admin counts for a group without members only', async () => {
    const held = await hold('security+nobody')
    expect(await answer(held.id, person({ role: 'admin' }))).toMatchObject({
      body: { status: 'pending', answered_groups: ['nobody'] },
    })
    expect((await answer(held.id, person({ role: 'owner', groups: [] }))).body).toMatchObject({
      status: 'pending',
    })
    expect((await answer(held.id, member('security'))).body).toMatchObject({ status: 'approved' })
    const staffed = await hold('security+finance')
    expect((await answer(staffed.id, person({ role: 'owner' }))).status).toBe(403)
    const two = await hold('nobody!+none!')
    const admin = person({ role: 'admin' })
    expect((await answer(two.id, admin)).body).toMatchObject({ status: 'pending' })
    expect((await answer(two.id, admin)).status).toBe(409)
    expect((await answer(two.id, person({ role: 'owner' }))).body).toMatchObject({ status: 'approved' })
  })

  test('by the internal API answers for no group and no distinct person', async () => {
    const claim = (id: string, approved: boolean, by = 'ops') =>
      replica.command(gateway, 'approvals.respond', { id, approved, by })
    const held = await hold('security+finance')
    await answer(held.id, member('security'))
    for (const by of ['finance@example.com', 'finance', 'ops'])
      for (const approved of [true, false]) expect((await claim(held.id, approved, by)).status).toBe(403)
    expect((await claim((await hold('!+')).id, true)).status).toBe(403)
    expect((await claim((await hold('+')).id, true)).body).toMatchObject({ status: 'approved' })
  })

  test('of a gateway of an older version, which names one list, is any member of it', async () => {
    const body = holdBody({
      binding: 'b'.repeat(64),
      agent: 'old',
      required_approver_groups: ['security', 'finance'],
    })
    const { id } = (await replica.gateway(gateway, 'POST', '/api/gateway/holds', body)).body[
      'approval'
    ] as ApprovalCard
    expect((await answer(id, member('ops'))).status).toBe(403)
    expect((await answer(id, member('finance'))).body).toMatchObject({ status: 'approved' })
  })

  test.each([
    ['suspended', "status = 'suspended'"],
    ['a viewer now', "role = 'viewer'"],
    ['out of the group', "groups = '{ops}'"],
  ])('of a user who is %s before the others answer no longer counts', async (_name, change) => {
    const held = await hold('security+finance')
    const userId = newId('user')
    await replica.db.query(
      "insert into users (id, org_id, email, name, role, password_hash, groups) values ($1, $2, $1, 'R', 'member', 'x', '{security}')",
      [userId, replica.orgId],
    )
    await answer(held.id, person({ userId, groups: ['security'] }))
    await replica.db.query(`update users set ${change} where id = $1`, [userId])
    expect((await answer(held.id, member('finance'))).body).toMatchObject({
      status: 'pending',
      answered_groups: ['finance'],
    })
    expect(await spend(held)).toEqual({ spent: false, status: 'pending' })
    expect((await answer(held.id, member('security'))).body).toMatchObject({ status: 'approved' })
  })

  test('of a token, which identifies no user, does not count as one of several distinct users', async () => {
    const token = person({ role: 'owner', via: 'admin_token' })
    expect((await answer((await hold('nobody!+')).id, token)).status).toBe(403)
    expect((await answer((await hold('nobody+')).id, token)).body).toMatchObject({ status: 'approved' })
  })

  test('too late is 410, and what was answered before releases nothing', async () => {
    const held = await hold('security+finance')
    await answer(held.id, member('security'))
    await replica.db.query("update approvals set expires_at = now() - interval '1 second' where id = $1", [
      held.id,
    ])
    expect((await answer(held.id, member('finance'))).status).toBe(410)
    expect(await spend(held)).toMatchObject({ spent: false })
  })
})

test('sixteen concurrent answers on two replicas: no answer is lost, and there is one approval', async () => {
  const stream = await openStream(replica, gateway)
  for (const required of ['security+finance', 'security!+finance!']) {
    const held = await hold(required)
    const approvers = Array.from({ length: 16 }, (_, index) => member(index < 15 ? 'security' : 'finance'))
    const replies = await Promise.all(
      approvers.map((who, index) => answer(held.id, who, true, index % 2 === 0 ? replica : second)),
    )
    expect(replies.filter(({ body }) => body['status'] === 'approved')).toHaveLength(1)
    const accepted = replies.filter(({ status }) => status === 200).length
    expect(replies.filter(({ status }) => status === 409)).toHaveLength(16 - accepted)
    expect((await cardOf(held.id)).answers).toHaveLength(accepted)
    const events = await auditOf(replica.db, held.act)
    expect(events.filter(({ type }) => type === 'approval.responded')).toHaveLength(accepted)
    const uses = await Promise.all(Array.from({ length: 8 }, () => spend(held)))
    expect(uses.filter(({ spent }) => spent === true)).toHaveLength(1)
    await stream.next('verdict', (m) => m.verdict.id === held.id)
    expect(stream.messages.filter((m) => m.type === 'verdict' && m.verdict.id === held.id)).toHaveLength(1)
  }
  stream.close()
})
