import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import type { UserPrincipal } from '../../../controlplane/http/auth/authenticate.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { GATEWAY_HOST } from '../../../core/request/gateway-host.ts'
import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { JSON_BODY, MERGE, start } from '../../sidecar/pipeline/pipeline-world.ts'
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
let other: Enrolled
/** Users whose answers are void for the API server; null = the API server does not answer. */
let withdrawn: ReadonlySet<string> | null = new Set()
const policies = { plain: '', allowing: '' }

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica({
    confirmAnswer: () => async (answer) => {
      if (withdrawn === null) throw new ChaperoneError('not_ready', { retryAfterS: 2 })
      return !withdrawn.has(answer.by)
    },
  })
  second = await world.replica()
  gateway = await replica.enrol('default/local')
  other = await replica.enrol('elsewhere/main')
  policies.plain = await policy('')
  policies.allowing = await policy('grants: allowed\n')
  await replica.db.query(
    "insert into users (id, org_id, email, name, role, password_hash, groups) values ($1, $2, 'staff@example.com', 'S', 'member', 'x', '{security}')",
    [newId('user'), replica.orgId],
  )
})
afterAll(() => world.stop())

async function policy(line: string, fields: { readonly name?: string; readonly source?: string } = {}) {
  const id = newId('policy')
  const yaml = `${line}rules:\n  - { name: merges, decision: require_approval }\n`
  await replica.db.query(
    `insert into policies (id, org_id, name, description, priority, policy_yaml, active_yaml, version, active_version, source)
     values ($1, $2, $3, '', 100, $4, $4, 1, 1, $5)`,
    [id, replica.orgId, fields.name ?? id, yaml, fields.source ?? 'api'],
  )
  return id
}

const admin = (changes: Partial<UserPrincipal> = {}) =>
  person({ role: 'admin', groups: ['security'], email: 'admin@example.com', ...changes })
const member = () => person({ groups: ['security'], email: 'member@example.com' })

const heldBy = (id = policies.plain, groups = ['security']) => ({
  common_sha256: 'a'.repeat(64),
  account_sha256: 'a'.repeat(64),
  source: 'policy',
  permission: 'perm_1',
  policies: [{ ref: `${id}@1`, rule: `${id}: merges`, groups, distinct: false }],
})

type Held = { readonly id: string; readonly binding: string; readonly outcome: string; readonly act: string }

async function agentOf(at = gateway): Promise<string> {
  const name = `${at === other ? 'elsewhere/' : ''}${newId('agent')}`
  await replica.command(at, 'agents.register', { name })
  return name
}

async function hold(
  agent: string,
  changes: Partial<HoldBody> = {},
  on = replica,
  at = gateway,
): Promise<Held> {
  const held_by = changes.held_by ?? heldBy()
  const body = holdBody({
    binding: newId('hold').padEnd(64, '0').slice(-64),
    agent,
    connector_name: 'codehost',
    held_by,
    required_groups: held_by.policies.map(({ rule, groups, distinct }) => ({
      policy: rule,
      groups,
      distinct,
    })),
    required_approver_groups: held_by.policies.flatMap(({ groups }) => groups),
    ...changes,
  })
  const reply = await on.gateway(at, 'POST', '/api/gateway/holds', body)
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  const { id } = reply.body['approval'] as ApprovalCard
  return { id, binding: body.binding, outcome: String(reply.body['outcome']), act: body.act_id }
}

const GRANT = { duration: '1h', max_uses: 2 }
const answer = (id: string, who: UserPrincipal, grant: object = GRANT) =>
  replica.user(who, 'POST', '/api/dashboard/proxy-approvals', { id, approved: true, grant })

async function granted(
  agent: string,
  grant: object = GRANT,
  changes: Partial<HoldBody> = {},
): Promise<string> {
  const held = await hold(agent, changes)
  const reply = await answer(held.id, admin(), grant)
  expect(reply, JSON.stringify(reply.body)).toMatchObject({ status: 200, body: { status: 'approved' } })
  return String(reply.body['grant_id'])
}

const listed = async (who = admin()) =>
  (await replica.user(who, 'GET', '/api/dashboard/grants')).body['grants'] as Array<Record<string, unknown>>
const grantOf = async (id: string) => (await listed()).find((grant) => grant['id'] === id)

test('a grant approves later requests like the answered one, as often as it says, and both replicas count', async () => {
  const agent = await agentOf()
  const id = await granted(agent)
  const first = await hold(agent, { parameters: { number: '2' } })
  expect(first.outcome).toBe('approved')
  expect(
    (
      await replica.gateway(gateway, 'POST', `/api/gateway/holds/${first.id}/spend`, {
        binding: first.binding,
      })
    ).body,
  ).toEqual({
    spent: true,
    status: 'approved',
  })
  const raced = await Promise.all(
    [replica, second, replica, second].map((on, at) =>
      hold(agent, { parameters: { number: `${at + 3}` } }, on),
    ),
  )
  expect(raced.map(({ outcome }) => outcome).sort()).toEqual(['approved', 'created', 'created', 'created'])
  expect(await grantOf(id)).toMatchObject({
    uses: 2,
    max_uses: 2,
    status: 'spent',
    agent,
    created_by: 'admin@example.com',
  })
  const events = await auditOf(replica.db, first.act)
  expect(events.map(({ type }) => type)).toEqual(['action.requested', 'grant.used'])
  expect(events[1]?.details).toMatchObject({ grant_id: id, uses: 1, max_uses: 2 })
})

test('the same request sent again before it was forwarded uses the grant once', async () => {
  const agent = await agentOf()
  const id = await granted(agent)
  const binding = 'b'.repeat(64)
  expect((await hold(agent, { binding })).outcome).toBe('approved')
  expect((await hold(agent, { binding }, second)).outcome).toBe('approved')
  expect(await grantOf(id)).toMatchObject({ uses: 1 })
})

describe('a grant releases nothing else', () => {
  const CASES: ReadonlyArray<readonly [string, () => Partial<HoldBody>]> = [
    ['another target', () => ({ target: 'acme/other' })],
    ['the target in another case', () => ({ target: 'ACME/site' })],
    ['the target in another encoding', () => ({ target: 'acme%2Fsite' })],
    ['no target', () => ({ target: null })],
    ['another action', () => ({ action_type: 'codehost.pr.close' })],
    ['the action in another case', () => ({ action_type: 'codehost.pr.Merge' })],
    ['another Connector', () => ({ connector_name: 'second' })],
    ['another value of a named parameter', () => ({ parameters: { number: '2' } })],
    ['a named parameter of another type', () => ({ parameters: { number: 1 } })],
    ['no named parameter', () => ({ parameters: {} })],
    ['a risk of 0.8', () => ({ risk_score: 0.8 })],
    ['a body that the gateway could not read', () => ({ unread_body: { description: 'x', excerpt: null } })],
    [
      'a new version of the policy',
      () => ({
        held_by: { ...heldBy(), policies: [{ ...heldBy().policies[0]!, ref: `${policies.plain}@2` }] },
      }),
    ],
    ['other groups of the policy', () => ({ held_by: heldBy(policies.plain, ['finance']) })],
    [
      'another rule',
      () => ({ held_by: { ...heldBy(), policies: [{ ...heldBy().policies[0]!, rule: 'other' }] } }),
    ],
    ['another policy', () => ({ held_by: heldBy(policies.allowing) })],
    [
      'a further policy',
      () => ({
        held_by: { ...heldBy(), policies: [...heldBy().policies, ...heldBy(policies.allowing).policies] },
      }),
    ],
    ['a permission that asks as well', () => ({ held_by: { ...heldBy(), source: 'permission' } })],
    ['other header fields or effects', () => ({ held_by: { ...heldBy(), common_sha256: 'b'.repeat(64) } })],
    ['another permission', () => ({ held_by: { ...heldBy(), permission: 'perm_2' } })],
  ]
  let agent = ''
  beforeAll(async () => {
    agent = await agentOf()
    await granted(agent, { ...GRANT, max_uses: 100, parameters: ['number'] })
    expect((await hold(agent)).outcome).toBe('approved')
  })
  test.each(CASES)('%s', async (_, changes) => {
    expect((await hold(agent, changes())).outcome).toBe('created')
  })

  test('another agent, and another agent of the same name', async () => {
    expect((await hold(await agentOf())).outcome).toBe('created')
    const name = await agentOf()
    await granted(name)
    await replica.db.query("update agents set status = 'revoked' where name = $1", [name])
    await replica.command(gateway, 'agents.register', { name })
    expect((await hold(name)).outcome).toBe('created')
  })

  test('a gateway of an older version, which does not send the rules that hold the request', async () => {
    const agent = await agentOf()
    await granted(agent)
    const old = holdBody({ binding: 'c'.repeat(64), agent, connector_name: 'codehost' })
    expect((await replica.gateway(gateway, 'POST', '/api/gateway/holds', old)).body['outcome']).toBe(
      'created',
    )
  })
})

describe('a grant of all parameters releases only requests', () => {
  const body = { other_fields: { title: 'a' }, number: '1', method: 'squash' }
  const path = '/repos/acme/site/pulls/1/merge?admin=no'
  const grant = { ...GRANT, max_uses: 100, parameters: ['number', 'method'] }
  const CASES: ReadonlyArray<readonly [string, Partial<HoldBody>]> = [
    ['a further parameter', { parameters: { ...body, force: true } }],
    ['no further body field', { parameters: { number: '1', method: 'squash' } }],
    ['another further body field', { parameters: { ...body, other_fields: { title: 'b' } } }],
    ['another query', { path: path.replace('no', 'yes') }],
    ['no query', { path: path.replace('?admin=no', '') }],
  ]
  test.each(CASES)('without %s', async (_, changes) => {
    const agent = await agentOf()
    const held = { parameters: body, path }
    expect(await grantOf(await granted(agent, grant, held))).toMatchObject({ exact: true, parameters: body })
    expect((await hold(agent, held)).outcome).toBe('approved')
    expect((await hold(agent, { ...held, ...changes })).outcome).toBe('created')
  })

  test.each(CASES)('and one of some of them also releases %s', async (_, changes) => {
    const agent = await agentOf()
    const held = { parameters: body, path }
    const id = await granted(agent, { ...grant, parameters: ['number'] }, held)
    expect(await grantOf(id)).toMatchObject({ exact: false, parameters: { number: '1' } })
    expect((await hold(agent, { ...held, ...changes })).outcome).toBe('approved')
  })
})

test('the policy changed after the grant, although the gateway has its old version', async () => {
  const agent = await agentOf()
  const id = await policy('')
  await granted(agent, GRANT, { held_by: heldBy(id) })
  await replica.db.query('update policies set version = 2, active_version = 2 where id = $1', [id])
  expect((await hold(agent, { held_by: heldBy(id) })).outcome).toBe('created')
})

test('a grant expires by the clock of the database', async () => {
  const agent = await agentOf()
  const id = await granted(agent)
  await replica.db.query('update permission_grants set expires_at = clock_timestamp() where id = $1', [id])
  expect((await hold(agent)).outcome).toBe('created')
  expect(await grantOf(id)).toMatchObject({ status: 'expired' })
})

test('a revoked grant releases nothing, and says who revoked it', async () => {
  const agent = await agentOf()
  const id = await granted(agent)
  const revoke = () => replica.user(member(), 'DELETE', `/api/dashboard/grants?grant_id=${id}`)
  expect((await revoke()).status).toBe(200)
  expect((await revoke()).status).toBe(409)
  expect((await hold(agent)).outcome).toBe('created')
  expect(await grantOf(id)).toMatchObject({ status: 'revoked', revoked_by: 'member@example.com' })
  const { rows } = await replica.db.query<{ type: string }>(
    "select event_type as type from audit_events where details->>'grant_id' = $1 order by id",
    [id],
  )
  expect(rows.map(({ type }) => type)).toEqual(['grant.created', 'grant.revoked'])
})

test('a revoked grant stops requests that it released and that are not forwarded yet', async () => {
  const agent = await agentOf()
  const id = await granted(agent)
  const [used, open] = [await hold(agent), await hold(agent)]
  const spend = (held: Held) =>
    replica.gateway(gateway, 'POST', `/api/gateway/holds/${held.id}/spend`, { binding: held.binding })
  expect((await spend(used)).body).toMatchObject({ spent: true })
  await replica.user(member(), 'DELETE', `/api/dashboard/grants?grant_id=${id}`)
  expect((await spend(open)).body).toEqual({ spent: false, status: 'cancelled' })
  expect((await hold(agent, { binding: open.binding }, second)).outcome).toBe('created')
  expect((await spend(used)).body).toEqual({ spent: false, status: 'approved' })
  const { rows } = await replica.db.query<{ details: object }>(
    "select details from audit_events where event_type = 'grant.revoked' and details->>'grant_id' = $1",
    [id],
  )
  expect(rows).toMatchObject([{ details: { cancelled_approvals: [open.id] } }])
})

test('a grant ends when the user who made it may no longer answer', async () => {
  const agent = await agentOf()
  const userId = newId('user')
  await replica.db.query(
    "insert into users (id, org_id, email, name, role, password_hash, groups) values ($1, $2, $1, 'A', 'admin', 'x', '{security}')",
    [userId, replica.orgId],
  )
  const held = await hold(agent)
  const { body } = await answer(held.id, admin({ userId }))
  await replica.db.query("update users set groups = '{}' where id = $1", [userId])
  expect((await hold(agent)).outcome).toBe('created')
  expect(await grantOf(String(body['grant_id']))).toMatchObject({ status: 'ended' })
})

test('a grant of a user of the cluster releases nothing once the API server withdraws the right to answer', async () => {
  const agent = await agentOf()
  const user = { username: 'ann', uid: 'u-1', groups: ['security'], extra: {} }
  const ann = admin({ userId: 'cluster:ann', email: 'ann', via: 'cluster', clusterCredential: 'token' })
  const held = await hold(agent)
  expect(await answer(held.id, { ...ann, clusterUser: user })).toMatchObject({ status: 200 })
  for (const state of [new Set(['ann']), null]) {
    withdrawn = state
    expect((await hold(agent)).outcome).toBe('created')
  }
  withdrawn = new Set()
  expect((await hold(agent)).outcome).toBe('approved')
})

describe('a grant needs', () => {
  const refused = async (changes: Partial<HoldBody>, who: UserPrincipal, grant: object = GRANT) => {
    const held = await hold(await agentOf(), changes)
    const reply = await answer(held.id, who, grant)
    const { body } = await replica.user(admin(), 'GET', '/api/dashboard/proxy-approvals?limit=500')
    const card = (body['approvals'] as ApprovalCard[]).find(({ id }) => id === held.id)
    expect(card?.status).toBe('pending')
    return reply
  }

  test('the right to write permissions, or a policy that allows grants', async () => {
    expect(await refused({}, member())).toMatchObject({ status: 403 })
    const held = await hold(await agentOf(), { held_by: heldBy(policies.allowing) })
    expect((await answer(held.id, member())).status).toBe(200)
  })

  test('the groups of every policy that holds', async () => {
    const two = {
      ...heldBy(),
      policies: [...heldBy().policies, ...heldBy(policies.allowing, ['finance']).policies],
    }
    await replica.db.query("update users set groups = '{security,finance}' where email = 'staff@example.com'")
    expect(await refused({ held_by: two }, admin())).toMatchObject({ status: 403 })
  })

  test('a request below a risk of 0.8', async () => {
    expect(await refused({ risk_score: 0.8 }, admin())).toMatchObject({ status: 409 })
  })

  test('a policy that is not of the platform team', async () => {
    const id = await policy('', { name: `platform/${newId('policy')}`, source: 'kubernetes' })
    expect(await refused({ held_by: heldBy(id) }, admin())).toMatchObject({ status: 409 })
  })

  test('a parameter to compare, if the request has a body or a query', async () => {
    const plain = { parameters: { other_fields: { amount: 5 } } }
    expect(await refused({ ...plain, body_sha256: 'a'.repeat(64) }, admin())).toMatchObject({ status: 409 })
    expect(await refused({ ...plain, path: '/orders?amount=5' }, admin())).toMatchObject({ status: 409 })
  })

  test('whole values, to compare all of them', async () => {
    const hidden = { title: '(not shown: 7 characters)' }
    const parameters = { number: '1', other_fields: hidden }
    expect(await refused({ parameters }, admin(), { ...GRANT, parameters: ['number'] })).toMatchObject({
      status: 409,
    })
  })

  test('the policies as they are in force', async () => {
    expect(await refused({ held_by: heldBy(newId('policy')) }, admin())).toMatchObject({ status: 409 })
  })

  test('an approval, and parameters that the request has', async () => {
    expect(await refused({}, admin(), { ...GRANT, parameters: ['nope'] })).toMatchObject({ status: 400 })
    const held = await hold(await agentOf())
    const denied = { id: held.id, approved: false, grant: GRANT }
    expect(await replica.user(admin(), 'POST', '/api/dashboard/proxy-approvals', denied)).toMatchObject({
      status: 400,
    })
  })

  test('a user, and no approver key', async () => {
    expect(await refused({}, admin({ via: 'approver_key' }))).toMatchObject({ status: 403 })
  })

  test('at most 100 uses', async () => {
    expect(await refused({}, admin(), { ...GRANT, max_uses: 101 })).toMatchObject({ status: 400 })
  })
})

test('users see and revoke only the grants of their namespaces', async () => {
  const agent = await agentOf()
  const id = await granted(agent)
  const tenant = admin({ namespaces: new Set(['elsewhere']), roleNamespaces: new Set(['elsewhere']) })
  expect((await listed(tenant)).map((grant) => grant['id'])).not.toContain(id)
  expect((await replica.user(tenant, 'DELETE', `/api/dashboard/grants?grant_id=${id}`)).status).toBe(404)
})

test('an access request is a card of which an agent has at most three, uses no grant, and becomes one', async () => {
  const agent = await agentOf()
  const ask = () => hold(agent, { access_request: true, parameters: {} })
  const first = await ask()
  const opened = await auditOf(replica.db, first.act)
  expect(opened.map(({ type, details }) => [type, details['access_request']])).toEqual([
    ['action.requested', true],
    ['action.pending_approval', true],
  ])
  const { body } = await answer(first.id, admin())
  const id = String(body['grant_id'])
  expect((await hold(agent, { parameters: {}, body_sha256: 'a'.repeat(64) })).outcome).toBe('created')
  expect((await hold(agent)).outcome).toBe('approved')
  for (let open = 0; open < 3; open++) expect((await ask()).outcome).toBe('created')
  expect(await grantOf(id)).toMatchObject({ uses: 1 })
  const binding = newId('hold').padEnd(64, '0').slice(-64)
  const more = holdBody({ binding, agent, access_request: true })
  expect((await replica.gateway(gateway, 'POST', '/api/gateway/holds', more)).status).toBe(429)
})

test('an access request without a target gets a grant for any target only', async () => {
  const agent = await agentOf()
  const asked = await hold(agent, { access_request: true, parameters: {}, target: null })
  const refused = await answer(asked.id, admin())
  expect(refused).toMatchObject({ status: 409 })
  expect(JSON.stringify(refused.body)).toContain('--any-target')
  expect(await answer(asked.id, admin(), { ...GRANT, target: 'any' })).toMatchObject({ status: 200 })
  expect((await hold(agent)).outcome).toBe('approved')
})

test('the grant of an access request releases requests as gateways hold them, for the account of no header field', async () => {
  const sidecar = await start({ permissions: [['codehost.*', 'require_approval']] })
  const asked = { action: 'codehost.pr.merge', target: 'acme/site', reason: 'The release is due' }
  const message = {
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
    params: { name: 'request_access', arguments: asked },
  }
  const ask = {
    method: 'POST',
    host: GATEWAY_HOST,
    scheme: 'http',
    target: '/mcp',
    headers: JSON_BODY,
  } as const
  await sidecar.send({ ...ask, body: JSON.stringify(message) })
  for (const more of [[], ['OpenAI-Project', 'proj_1']])
    await sidecar.send({ ...MERGE, headers: ['X-GitHub-Api-Version', '2022-11-28', ...more] })
  const agent = await agentOf()
  const sent = async (body: HoldBody | undefined) => {
    const own = { ...body, agent, act_id: newId('actionRequest') }
    const reply = await replica.gateway(gateway, 'POST', '/api/gateway/holds', own)
    return reply.body as { outcome: string; approval: ApprovalCard }
  }
  const [access, plain, ofAccount] = sidecar.holds
  const { approval } = await sent(access)
  expect(await answer(approval.id, admin())).toMatchObject({ status: 200 })
  expect((await sent(ofAccount)).outcome).toBe('created')
  expect((await sent(plain)).outcome).toBe('approved')
})
