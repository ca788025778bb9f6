import { ALLOWED } from '../v1/world.ts'
import { callersOf, type World } from './contract-world.ts'
import { answerOf, invalid, on, type RefusalCase } from './refusal-case.ts'

/** Requests that are answered 400, each with the field. */
export function badRequests(world: World): readonly RefusalCase[] {
  const { agentKey, admin, member, viewer, nobody } = callersOf(world)
  const actions = { row: 'POST /api/v1/actions', by: agentKey }
  const resource = { provider: 'codehost' }

  return [
    { ...actions, why: 'nothing', body: {}, ...invalid('action_spec: is required') },
    {
      ...{ ...actions, why: 'two fields missing', body: { action_spec: { resource: {} } } },
      ...invalid('action_spec.type: is required; action_spec.resource.provider: is required'),
    },
    {
      ...{ ...actions, why: 'a hint that is no boolean' },
      body: { action_spec: { type: 'a.b.c', resource, risk_hints: { irreversible: 'yes' } } },
      ...invalid(/^action_spec\.risk_hints\.irreversible: /),
    },
    {
      ...{ ...actions, why: 'a webhook_url of another kind' },
      body: { action_spec: ALLOWED, webhook_url: 'ftp://x.test/' },
      ...invalid('webhook_url: must be an http or https URL'),
    },
    { ...actions, why: 'no JSON', body: '{"action_spec":', ...invalid('body: is not valid JSON') },
    {
      ...{ row: 'POST /api/v1/actions/batch', why: '21 items', by: agentKey },
      body: { actions: Array(21).fill({ action_spec: ALLOWED }) },
      ...invalid(/^actions: /),
    },
    {
      ...{ row: 'POST /api/v1/actions/batch', why: 'none', by: agentKey, body: { actions: [] } },
      ...invalid(/^actions: /),
    },
    {
      ...{ row: 'POST /api/v1/actions/batch', why: 'one that is bad', by: agentKey },
      body: { actions: [{ action_spec: ALLOWED }, { action_spec: { resource } }] },
      ...invalid('actions.1.action_spec.type: is required'),
    },
    {
      ...{
        row: 'POST /api/v1/actions/dry-run',
        why: 'no type',
        by: agentKey,
        body: { action_spec: { resource } },
      },
      ...invalid('action_spec.type: is required'),
    },
    {
      ...{ row: 'POST /api/v1/actions/:id/execute', why: 'no token', by: agentKey },
      given: async () => ({ path: on(await world().allowed(), '/execute').path, body: {} }),
      ...invalid('decision_token: is required'),
    },
    {
      ...{ row: 'POST /api/v1/actions/:id/execute', why: 'codehost without a target', by: agentKey },
      given: async () => {
        const spec = {
          type: 'codehost.issue.create',
          resource: { provider: 'codehost' },
          parameters: { title: 'x' },
        }
        return on(await world().here.submit(world().agent, spec), '/execute')
      },
      ...invalid(/^action_spec\.resource\.target: is required to execute the action; give <owner>/),
    },
    {
      ...{ row: 'POST /api/v1/agents/register', why: 'nothing', by: agentKey, body: {} },
      ...invalid('name: is required; runtime: is required; environment: is required'),
    },
    ...(['limit=0', 'limit=501', 'offset=-1', 'limit=x'] as const).map((query) => ({
      ...{ row: 'GET /api/v1/audit/events', why: query, by: agentKey, path: `/api/v1/audit/events?${query}` },
      ...invalid(new RegExp(`^${query.split('=')[0]}: `)),
    })),
    {
      ...{ row: 'POST /api/v1/approvals/:id/respond', why: 'another word', by: member },
      given: async () => ({ ...answerOf(await world().pending()), body: { decision: 'maybe' } }),
      ...invalid(/^decision: /),
    },
    {
      ...{ row: 'POST /api/v1/org/kill-switch', why: 'nothing', by: agentKey, body: {} },
      ...invalid('active: is required'),
    },
    {
      ...{ row: 'POST /api/v1/tokens/verify', why: 'nothing', by: nobody, body: {} },
      ...invalid('decision_token: is required; action_request_id: is required'),
    },
    {
      ...{ row: 'POST /api/auth/register', why: 'a short password', by: nobody },
      body: { email: 'x@example.com', password: 'short', name: 'X' },
      ...invalid('password: must have at least 12 characters'),
    },
    {
      ...{ row: 'POST /api/dashboard/users', why: 'another action', by: admin, body: { action: 'promote' } },
      ...invalid(/^action: /),
    },
    {
      ...{
        row: 'PUT /api/dashboard/settings',
        why: 'an unknown key',
        by: admin,
        body: { settings: { colour: 'red' } },
      },
      ...invalid('settings.colour: is not a known field'),
    },
    {
      ...{ row: 'POST /api/dashboard/demo-action', why: 'scenario 3', by: viewer, body: { scenario: 3 } },
      ...invalid(/^scenario: /),
    },
    {
      ...{ row: 'GET /api/dashboard/test-gateway', why: 'an address that is not configured', by: viewer },
      path: '/api/dashboard/test-gateway?url=http://169.254.169.254/',
      ...invalid(/^url: /),
    },
    {
      ...{
        row: 'POST /api/dashboard/policies',
        why: 'no YAML',
        by: admin,
        body: { name: 'p', policyYaml: 'rules: [' },
      },
      ...invalid(/^policyYaml: line 1/),
    },
  ]
}
