import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import type { UserPrincipal } from '../../../controlplane/http/auth/authenticate.ts'
import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import {
  auditOf,
  type Enrolled,
  holdBody,
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

const PATH = '/api/dashboard/proxy-approvals'
const ann = person({ email: 'ann@example.com', groups: ['security'] })
const finn = person({ email: 'finn@example.com', groups: ['finance'] })

async function hold(changes: Partial<HoldBody> = {}) {
  const body = holdBody({ binding: newId('hold').padEnd(64, '0').slice(-64), ...changes })
  const reply = await replica.gateway(gateway, 'POST', '/api/gateway/holds', body)
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  const { id } = reply.body['approval'] as ApprovalCard
  return { id, body, outcome: reply.body['outcome'] }
}
const groups = (...names: string[]) => ({
  required_groups: names.map((name) => ({ policy: name, groups: [name], distinct: false })),
  required_approver_groups: names,
})
const answer = (id: string, who: UserPrincipal = ann, more: object = {}) =>
  replica.user(who, 'POST', PATH, { id, approved: true, ...more })
const withdraw = (id: string, who: UserPrincipal = ann, on = replica) =>
  on.user(who, 'DELETE', `${PATH}?id=${id}`)
const spend = (id: string, binding: string) =>
  replica.gateway(gateway, 'POST', `/api/gateway/holds/${id}/spend`, { binding })

async function cardOf(id: string): Promise<ApprovalCard | undefined> {
  const { body } = await replica.user(ann, 'GET', `${PATH}?limit=500`)
  return (body['approvals'] as ApprovalCard[]).find((card) => card.id === id)
}

test('a withdrawn approval releases no request, and the same request opens a new card', async () => {
  const { id, body } = await hold()
  await answer(id)
  expect(Date.parse((await cardOf(id))?.withdrawable_until ?? '')).not.toBeNaN()
  const reply = await withdraw(id, finn, second)
  expect(reply, JSON.stringify(reply.body)).toMatchObject({
    status: 200,
    body: { ok: true, id, status: 'cancelled' },
  })
  expect((await spend(id, body.binding)).body).toEqual({ spent: false, status: 'cancelled' })
  expect(await cardOf(id)).toMatchObject({
    status: 'cancelled',
    withdrawable_until: null,
    note: 'finn@example.com withdrew the approval.',
  })
  expect((await hold({ binding: body.binding })).outcome).toBe('created')
  const events = await auditOf(replica.db, body.act_id)
  expect(events.map(({ type }) => type)).toContain('approval.withdrawn')
  expect(events.find(({ type }) => type === 'approval.withdrawn')?.details).toEqual({
    ...{ approval_id: id, action_type: 'codehost.pr.merge', approval_status: 'cancelled' },
    ...{ responded_by: 'ann@example.com', withdrawn_by: 'finn@example.com', via: 'dashboard' },
  })
})

test('an approval that a gateway has used stays', async () => {
  const { id, body } = await hold()
  await answer(id)
  expect((await spend(id, body.binding)).body).toMatchObject({ spent: true })
  expect((await cardOf(id))?.withdrawable_until).toBeNull()
  expect(await withdraw(id)).toMatchObject({ status: 409, body: { error: 'Too late to withdraw' } })
  expect(await cardOf(id)).toMatchObject({ status: 'approved' })
})

test('either the gateway uses the approval or the user withdraws it, never both', async () => {
  for (let round = 0; round < 8; round++) {
    const { id, body } = await hold()
    await answer(id)
    const [used, withdrawn] = await Promise.all([spend(id, body.binding), withdraw(id, ann, second)])
    expect([used.body['spent'], withdrawn.status === 200].filter(Boolean)).toHaveLength(1)
  }
})

test('an approval whose time is over cannot be withdrawn', async () => {
  const { id } = await hold()
  await answer(id)
  await replica.db.query(
    "update approvals set responded_at = responded_at - interval '1 hour' where id = $1",
    [id],
  )
  expect((await withdraw(id)).status).toBe(409)
})

test('while another group must answer, a user withdraws the own answer only', async () => {
  const { id } = await hold(groups('security', 'finance'))
  await answer(id)
  expect(await withdraw(id, finn)).toMatchObject({ status: 409, body: { error: 'Nothing to withdraw' } })
  expect((await withdraw(id)).body).toEqual({ ok: true, id, status: 'pending' })
  expect(await cardOf(id)).toMatchObject({ status: 'pending', answers: [] })
  expect((await answer(id, finn)).body).toMatchObject({ status: 'pending', answered_groups: ['finance'] })
  expect((await answer(id)).body).toMatchObject({ status: 'approved' })
})

test('the grant that the answer made ends with it', async () => {
  const agent = newId('agent')
  await replica.command(gateway, 'agents.register', { name: agent })
  const policy = newId('policy')
  const yaml = 'grants: allowed\nrules:\n  - { name: merges, decision: require_approval }\n'
  await replica.db.query(
    `insert into policies (id, org_id, name, description, priority, policy_yaml, active_yaml, version, active_version, source)
     values ($1, $2, $1, '', 100, $3, $3, 1, 1, 'api')`,
    [policy, replica.orgId, yaml],
  )
  const held_by = {
    ...{ common_sha256: 'a'.repeat(64), account_sha256: 'a'.repeat(64), source: 'policy', permission: null },
    policies: [{ ref: `${policy}@1`, rule: policy, groups: ['security'], distinct: false }],
  }
  const given = { agent, held_by, ...groups('security') }
  const { id } = await hold(given)
  expect((await answer(id, ann, { grant: { duration: '1h' } })).status).toBe(200)
  const released = await hold(given)
  expect(released.outcome).toBe('approved')
  expect((await withdraw(id)).status).toBe(200)
  expect((await spend(released.id, released.body.binding)).body).toEqual({
    spent: false,
    status: 'cancelled',
  })
  expect((await hold(given)).outcome).toBe('created')
})

test('a denial and an approval of another namespace cannot be withdrawn', async () => {
  const { id } = await hold()
  await answer(id, ann, { approved: false })
  expect(await withdraw(id)).toMatchObject({ status: 409, body: { error: 'Nothing to withdraw' } })
  const { id: other } = await hold()
  await answer(other)
  const elsewhere = person({ roleNamespaces: new Set(['elsewhere']) })
  expect((await withdraw(other, elsewhere)).status).toBe(404)
  expect((await withdraw(other, person({ role: 'viewer' }))).status).toBe(403)
  expect((await withdraw('apv_none')).status).toBe(404)
  expect(await cardOf(other)).toMatchObject({ status: 'approved' })
})
