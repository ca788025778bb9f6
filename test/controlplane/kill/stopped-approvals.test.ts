import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import type { KillScope } from '../../../core/crd/kill-scopes.ts'
import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { eventually } from '../../support/eventually.ts'
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
let other: Enrolled

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  second = await world.replica()
  gateway = await replica.enrol('team/main')
  other = await replica.enrol('other/edge')
})
afterAll(() => world.stop())

const admin = person({ role: 'admin', email: 'root@example.com' })
const setKillSwitch = (active: boolean, scope: string, on = replica) =>
  on.user(admin, 'POST', '/api/dashboard/kill-switch', { active, scope, reason: 'drill' })
afterEach(async () => {
  for (const { scope } of replica.hub.kill.effective()) await setKillSwitch(false, scope)
})

type Held = { readonly id: string; readonly body: HoldBody; readonly of: Enrolled }
const ask = (body: HoldBody, of = gateway, on = replica) => on.gateway(of, 'POST', '/api/gateway/holds', body)
async function hold(changes: Partial<HoldBody> = {}, of = gateway): Promise<Held> {
  const binding = newId('hold').padEnd(64, '0').slice(-64)
  const body = holdBody({ binding, agent: newId('agent'), connector_name: 'team/github', ...changes })
  const reply = await ask(body, of)
  return { id: (reply.body['approval'] as ApprovalCard).id, body, of }
}
const answer = (id: string, approved = true, on = replica) =>
  on.user(person(), 'POST', '/api/dashboard/proxy-approvals', { id, approved })
const spend = async ({ id, body, of }: Held) =>
  (await replica.gateway(of, 'POST', `/api/gateway/holds/${id}/spend`, { binding: body.binding })).body
async function rowOf(id: string): Promise<Record<string, unknown>> {
  const { rows } = await replica.db.query<Record<string, unknown>>(
    'select status, note, via, responded_by from approvals where id = $1',
    [id],
  )
  return rows[0]!
}
const CANCELLED = {
  status: 'cancelled',
  note: 'Kill switch active: drill',
  via: 'kill_switch',
  responded_by: 'root@example.com',
}

test('a kill switch cancels pending approvals, notifies the gateway and is audited; its lift restores no approval', async () => {
  const stream = await openStream(replica, gateway, { acks: true })
  const held = await hold()
  await setKillSwitch(true, 'all')
  expect(await rowOf(held.id)).toEqual(CANCELLED)
  const { verdict } = await stream.next('verdict', (m) => m.verdict.id === held.id)
  expect(verdict).toMatchObject({ status: 'cancelled', note: 'Kill switch active: drill' })
  expect((await auditOf(replica.db, held.body.act_id)).at(-1)).toMatchObject({
    type: 'action.cancelled',
    details: {
      ...{ action_type: 'codehost.pr.merge', previous_status: 'pending_approval', approval_id: held.id },
      ...{ reason: 'Kill switch active: drill', scope: 'all', cancelled_by: 'root@example.com' },
    },
  })
  expect((await answer(held.id)).status).toBe(409)
  await setKillSwitch(false, 'all')
  expect((await answer(held.id)).status).toBe(409)
  expect(await spend(held)).toEqual({ spent: false, status: 'cancelled' })
  const again = await ask(held.body)
  expect(again.body).toMatchObject({ outcome: 'created' })
  expect((again.body['approval'] as ApprovalCard).id).not.toBe(held.id)
  stream.close()
})

test('an unused approval is cancelled too; a used one stays unchanged', async () => {
  const [unused, used, denied] = [await hold(), await hold(), await hold()]
  for (const { id } of [unused, used]) await answer(id)
  await answer(denied.id, false)
  expect(await spend(used)).toEqual({ spent: true, status: 'approved' })
  await setKillSwitch(true, 'all')
  await setKillSwitch(false, 'all')
  expect(await spend(unused)).toEqual({ spent: false, status: 'cancelled' })
  expect(await rowOf(used.id)).toMatchObject({ status: 'approved' })
  expect(await rowOf(denied.id)).toMatchObject({ status: 'denied' })
  expect((await auditOf(replica.db, unused.body.act_id)).at(-1)).toMatchObject({
    type: 'action.cancelled',
    details: { previous_status: 'allowed' },
  })
  expect((await ask(unused.body)).body).toMatchObject({ outcome: 'created' })
})

test('an approval that only some groups have answered is cancelled with their answers', async () => {
  const set = (group: string) => ({ policy: group, groups: [group], distinct: false })
  const held = await hold({ required_groups: [set('a'), set('b')], required_approver_groups: ['a', 'b'] })
  const member = (group: string) => person({ groups: [group] })
  const respond = (group: string) =>
    replica.user(member(group), 'POST', '/api/dashboard/proxy-approvals', { id: held.id, approved: true })
  expect((await respond('a')).body).toMatchObject({ status: 'pending' })
  await setKillSwitch(true, 'all')
  await setKillSwitch(false, 'all')
  expect((await respond('b')).status).toBe(409)
  const again = (await ask(held.body)).body['approval'] as ApprovalCard
  expect(again).toMatchObject({ status: 'pending', answered_groups: [] })
})

test('a kill switch for a Connector whose host the provider reaches cancels the approval, and opens none', async () => {
  const held = await hold({ reached_connectors: ['mcp', 'team/tools'] })
  await setKillSwitch(true, 'connector:tools')
  expect(await rowOf(held.id)).toEqual(CANCELLED)
  expect((await ask(held.body)).status).toBe(403)
})

describe('the scope', () => {
  const mine = { agent: 'scoped-bot', connector: 'codehost', connector_name: 'team/github' }
  test.each([
    ['all', true],
    ['ALL', true],
    ['agent:scoped-bot', true],
    ['agent:SCOPED-BOT', true],
    ['Agent: scoped-bot', true],
    ['scoped-bot', true],
    ['agent:other-bot', false],
    ['agent:scoped-bo', false],
    ['connector:codehost', true],
    ['connector:CodeHost', true],
    ['codehost', true],
    ['connector:team/github', true],
    ['connector:github', true],
    ['connector:other/github', false],
    ['connector:payments', false],
    ['gateway:team/main', true],
    ['gateway:main', true],
    ['main', true],
    ['gateway:other/edge', false],
    ['gateway:other/main', false],
    ['connector:scoped-bot', false],
    ['agent:codehost', false],
  ])('%j covers the approval: %s', async (scope, isCovered) => {
    const held = await hold(mine)
    await setKillSwitch(true, scope)
    expect((await rowOf(held.id))['status']).toBe(isCovered ? 'cancelled' : 'pending')
    const again = await ask({ ...held.body, binding: held.body.binding.replace(/^./, 'f') })
    expect(again.status).toBe(isCovered ? 403 : 200)
    await setKillSwitch(false, scope)
    await replica.db.query("update approvals set expires_at = now() where status = 'pending'")
  })

  test('an agent is meant by its id as well', async () => {
    const id = newId('agent')
    await replica.db.query("insert into agents (id, org_id, name) values ($1, $2, 'by-id')", [
      id,
      replica.orgId,
    ])
    const held = await hold({ agent: 'by-id' })
    await setKillSwitch(true, `agent:${id}`)
    expect((await rowOf(held.id))['status']).toBe('cancelled')
    expect((await ask(held.body)).status).toBe(403)
  })

  test('an approval of a gateway that names no connector is covered by every connector of the type', async () => {
    const old = await hold({ connector_name: undefined })
    await replica.db.query(
      `insert into connectors (id, org_id, name, type, spec) values ($1, $2, 'team/named', 'codehost', '{"type":"codehost"}')`,
      [newId('connector'), replica.orgId],
    )
    await setKillSwitch(true, 'connector:team/named')
    expect((await rowOf(old.id))['status']).toBe('cancelled')
  })
})

describe('every source of a kill switch', () => {
  const gatewayManifest = (active: boolean, scopes: KillScope[] | undefined, generation: number) => ({
    ...{ uid: 'uid-1', generation, source: 'file', managed_by: 'kill.yaml' },
    resource: {
      ...{
        apiVersion: 'chaperone.dev/v1alpha1',
        kind: 'Gateway',
        metadata: { name: 'main', namespace: 'team' },
      },
      spec: { killSwitch: { active, reason: 'drill', ...(scopes && { scopes }) } },
    },
  })
  const put = (active: boolean, scopes: KillScope[] | undefined, generation: number) =>
    replica.operator(
      'PUT',
      '/api/operator/objects/Gateway/team/main',
      gatewayManifest(active, scopes, generation),
    )

  test('the internal API of a gateway', async () => {
    const held = await hold()
    await replica.command(other, 'kill-switch', { active: true, reason: 'drill' })
    expect((await rowOf(held.id))['status']).toBe('cancelled')
    await replica.command(other, 'kill-switch', { active: false })
    expect(await spend(held)).toMatchObject({ spent: false })
  })

  test('a Gateway manifest, for its own gateway alone', async () => {
    const [own, foreign] = [await hold(), await hold({}, other)]
    await put(true, undefined, 1)
    expect((await rowOf(own.id))['status']).toBe('cancelled')
    expect((await rowOf(foreign.id))['status']).toBe('pending')
    await put(false, undefined, 2)
    expect((await ask(own.body)).body).toMatchObject({ outcome: 'created' })
    const agent = await hold({ agent: 'shared-bot' })
    const elsewhere = await hold({ agent: 'shared-bot' }, other)
    await put(true, [{ kind: 'Agent', name: 'shared-bot' }], 3)
    expect((await rowOf(agent.id))['status']).toBe('cancelled')
    expect((await rowOf(elsewhere.id))['status']).toBe('pending')
    await put(false, undefined, 4)
  })

  test('the relay of the operator', async () => {
    const held = await hold()
    const relay = (scopes: string[], revision: number) =>
      replica.operator('POST', '/api/operator/kill', {
        ...{ source: 'manifest:team/main', scopes, reason: 'drill', by: 'operator', revision },
      })
    expect((await relay(['all'], 1)).status).toBe(200)
    expect((await rowOf(held.id))['status']).toBe('cancelled')
    await relay([], 2)
    expect(await spend(held)).toMatchObject({ spent: false })
  })

  test('another replica', async () => {
    const held = await hold()
    await setKillSwitch(true, 'all', second)
    expect((await rowOf(held.id))['status']).toBe('cancelled')
    await setKillSwitch(false, 'all', second)
  })
})

test('no approval is opened, joined or used under a kill switch, and the refusal names it', async () => {
  const [pending, approved] = [await hold(), await hold()]
  await answer(approved.id)
  await setKillSwitch(true, 'connector:codehost')
  for (const { body } of [pending, approved, { body: holdBody({ binding: 'c'.repeat(64) }) }]) {
    const refused = await ask(body)
    expect(refused).toMatchObject({
      status: 403,
      body: { error: 'Kill switch active: drill', scope: 'connector:codehost' },
    })
  }
  expect(
    (
      await ask(
        holdBody({ agent: 'payer', connector: 'payments', connector_name: 'p', binding: 'd'.repeat(64) }),
      )
    ).status,
  ).toBe(200)
})

test('holds and answers that race with kill switches on two replicas leave no approval that can be used afterwards', async () => {
  for (let round = 0; round < 6; round++) {
    const before = await Promise.all(Array.from({ length: 4 }, () => hold({ agent: `racer-${round}` })))
    const bodies = Array.from({ length: 8 }, () =>
      holdBody({ binding: newId('hold').padEnd(64, '0').slice(-64), agent: `racer-${round}` }),
    )
    await Promise.all([
      setKillSwitch(true, `agent:racer-${round}`, round % 2 === 0 ? replica : second),
      ...bodies.map((body, index) => ask(body, gateway, index % 2 === 0 ? replica : second)),
      ...before.map(({ id }, index) => answer(id, true, index % 2 === 0 ? replica : second)),
    ])
    // A busy database stores the kill switch after its answer, which comes within 2 s.
    await eventually('approvals that are all cancelled', async () => {
      const { rows } = await replica.db.query<{ status: string }>(
        'select status from approvals where agent = $1 and spent_at is null',
        [`racer-${round}`],
      )
      return rows.every(({ status }) => status === 'cancelled') ? true : null
    })
    await setKillSwitch(false, `agent:racer-${round}`)
    const uses = await Promise.all(before.map(spend))
    expect(uses.filter(({ spent }) => spent === true)).toEqual([])
  }
})
