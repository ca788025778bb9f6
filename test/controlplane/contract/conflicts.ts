import { expect } from 'vitest'
import { at, PASSWORD } from '../routes/start.ts'
import { ALLOWED, DESTRUCTIVE } from '../v1/world.ts'
import { callersOf, type World } from './contract-world.ts'
import { answerOf, on, type RefusalCase } from './refusal-case.ts'

const notFound = { error: 'Action request not found' }

/** Requests for objects that do not exist, or not for this caller: 404. */
export function notFounds(world: World): readonly RefusalCase[] {
  const { agentKey, stranger, admin, member, nobody } = callersOf(world)
  return [
    { row: 'GET /api/v1/actions/act_nothing', why: 'no such action', by: agentKey, ...notFound },
    {
      ...{ row: 'GET /api/v1/actions/:id', why: "another agent's", by: stranger, ...notFound },
      given: async () => ({ path: on(await world().allowed(), '').path }),
    },
    {
      ...{ row: 'POST /api/v1/actions/:id/execute', why: "another agent's", by: stranger, ...notFound },
      given: async () => on(await world().allowed(), '/execute'),
    },
    {
      ...{ row: 'POST /api/v1/actions/:id/cancel', why: "another agent's", by: stranger, ...notFound },
      given: async () => ({ path: on(await world().allowed(), '/cancel').path }),
    },
    {
      ...{ row: 'POST /api/v1/approvals/apr_nothing/respond', why: 'no such approval', by: member },
      ...{ body: { decision: 'approve' }, error: 'Approval not found' },
    },
    {
      ...{
        row: 'PATCH /api/dashboard/agents',
        why: 'no such agent',
        by: admin,
        error: expect.stringMatching(/not found/i),
      },
      body: { agent_id: 'agent_nothing', action: 'suspend' },
    },
    {
      ...{
        row: 'PATCH /api/dashboard/policies',
        why: 'no such policy',
        by: admin,
        error: expect.stringMatching(/not found/i),
      },
      body: { policy_id: 'pol_nothing', enabled: false },
    },
    {
      ...{
        row: 'PATCH /api/dashboard/gateway',
        why: 'no such gateway',
        by: admin,
        error: expect.stringMatching(/not found/i),
      },
      body: { gateway_id: 'gw_nothing', enforcementLevel: 'monitor' },
    },
    {
      ...{
        row: 'POST /api/dashboard/users',
        why: 'no such user',
        by: admin,
        error: expect.stringMatching(/not found/i),
      },
      body: { user_id: 'usr_nothing', action: 'suspend' },
    },
    { row: 'GET /api/v1/nothing', why: 'no such route', by: nobody, error: 'Not found' },
  ]
}

/** Requests that the state of the object refuses: 409. */
export function conflicts(world: World): readonly RefusalCase[] {
  const { agentKey, admin, member, nobody } = callersOf(world)
  return [
    {
      ...{ row: 'POST /api/v1/approvals/:id/respond', why: 'answered already', by: member },
      given: async () => {
        const given = answerOf(await world().pending())
        await world().by.admin('POST', given.path, given.body)
        return given
      },
      error: 'Approval already resolved',
    },
    {
      ...{ row: 'POST /api/v1/actions/:id/execute', why: 'used already', by: agentKey },
      given: async () => {
        const action = await world().allowed()
        const body = { decision_token: action.token, action_request_id: action.id }
        await world().by.nobody('POST', '/api/v1/tokens/verify', body)
        return on(action, '/execute')
      },
      error: 'Token verification failed: nonce already used',
    },
    {
      ...{
        row: 'POST /api/v1/actions/:id/cancel',
        why: 'denied',
        by: agentKey,
        error: expect.stringMatching(/./),
      },
      given: async () => {
        const { body } = await world().agent.call('POST', '/api/v1/actions', { action_spec: DESTRUCTIVE })
        return { path: `/api/v1/actions/${at(body, 'action_request_id')}/cancel` }
      },
    },
    {
      ...{ row: 'POST /api/v1/actions', why: 'an Idempotency-Key with another body', by: agentKey },
      headers: { 'idempotency-key': 'contract-1' },
      given: async () => {
        const first = { action_spec: ALLOWED }
        await world().agent.call('POST', '/api/v1/actions', first, { 'idempotency-key': 'contract-1' })
        return { body: { action_spec: { ...ALLOWED, parameters: { title: 'other' } } } }
      },
      error: expect.stringMatching(/Idempotency-Key/),
    },
    {
      ...{
        row: 'POST /api/v1/agents/register',
        why: 'a taken name',
        by: agentKey,
        error: expect.stringMatching(/./),
      },
      given: async () => ({ body: { name: world().stranger.name, runtime: 'x', environment: 'staging' } }),
    },
    {
      ...{
        row: 'POST /api/auth/register',
        why: 'a taken address',
        by: nobody,
        error: expect.stringMatching(/./),
      },
      body: { email: 'owner@example.com', password: PASSWORD, name: 'X' },
    },
    {
      ...{
        row: 'PATCH /api/dashboard/policies',
        why: 'another version',
        by: admin,
        error: expect.stringMatching(/./),
      },
      given: async () => {
        const { body } = await world().by.admin('GET', '/api/dashboard/policies')
        const policyYaml = at(body, 'policies', 0, 'policyYaml')
        return { body: { policy_id: at(body, 'policies', 0, 'id'), policyYaml, expected_version: 99 } }
      },
      extra: { version: 1 },
    },
    {
      ...{
        row: 'PATCH /api/dashboard/agents',
        why: 'activating a revoked one',
        by: admin,
        error: expect.stringMatching(/./),
      },
      given: async () => {
        const { id: agent_id } = await world().here.world.agent()
        await world().by.admin('PATCH', '/api/dashboard/agents', { agent_id, action: 'revoke' })
        return { body: { agent_id, action: 'activate' } }
      },
    },
  ]
}

/** Requests that come too late: 410. */
export function gone(world: World): readonly RefusalCase[] {
  const { agentKey, member } = callersOf(world)
  return [
    {
      ...{
        row: 'POST /api/v1/approvals/:id/respond',
        why: 'after five minutes',
        by: member,
        error: 'Approval expired',
      },
      given: async () => answerOf(await world().overdue()),
    },
    {
      ...{
        row: 'POST /api/dashboard/proxy-approvals',
        why: 'after five minutes',
        by: member,
        error: 'Approval expired',
      },
      given: async () => ({ body: { id: (await world().overdue()).approval, approved: true } }),
    },
    {
      ...{ row: 'POST /api/v1/actions/:id/execute', why: 'with a token out of time', by: agentKey },
      given: async () => on(await world().stale(), '/execute'),
      error: 'Token verification failed: token expired',
    },
  ]
}
