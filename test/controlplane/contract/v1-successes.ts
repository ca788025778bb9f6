import { expect } from 'vitest'
import { at } from '../routes/start.ts'
import { ALLOWED, DESTRUCTIVE, RISKY } from '../v1/world.ts'
import { callersOf, type World } from './contract-world.ts'
import {
  decision,
  every,
  ISO,
  id,
  NUMBER,
  policySummary,
  type SuccessCase,
  TEXT,
  TOKEN,
} from './success-case.ts'

const approval = {
  id: id('apr'),
  status: 'pending',
  required_approver_groups: expect.any(Array),
  expires_at: ISO,
}

/** Rows of section 4.3 of the specification. */
export function v1Successes(world: World): readonly SuccessCase[] {
  const { agentKey, member, nobody } = callersOf(world)
  const act = (suffix: string) => async () => {
    const action = await world().allowed()
    return { path: `/api/v1/actions/${action.id}${suffix}`, body: { decision_token: action.token } }
  }
  return [
    {
      ...{ row: 'POST /api/v1/actions', as: 'allowed', by: agentKey, body: { action_spec: ALLOWED } },
      answer: {
        ...{ action_request_id: id('act'), status: 'allowed', decision: decision('allow') },
        ...{ decision_token: TOKEN, expires_at: ISO },
      },
    },
    {
      ...{
        row: 'POST /api/v1/actions',
        as: 'waiting for a person',
        by: agentKey,
        body: { action_spec: RISKY },
      },
      answer: {
        ...{
          action_request_id: id('act'),
          status: 'pending_approval',
          decision: decision('requires_approval'),
        },
        ...{ decision_token: null, approval },
      },
    },
    {
      ...{ row: 'POST /api/v1/actions', as: 'denied', by: agentKey, body: { action_spec: DESTRUCTIVE } },
      answer: {
        action_request_id: id('act'),
        status: 'denied',
        decision: decision('deny'),
        decision_token: null,
      },
    },
    {
      ...{ row: 'POST /api/v1/actions/batch', by: agentKey },
      body: { actions: [{ action_spec: ALLOWED }, { action_spec: RISKY }] },
      answer: {
        ...{ batch_id: id('batch'), total: 2 },
        results: [
          {
            ...{ action_request_id: id('act'), status: 'allowed', decision: decision('allow') },
            ...{ decision_token: TOKEN, expires_at: ISO },
          },
          {
            ...{ action_request_id: id('act'), status: 'denied', decision: decision('requires_approval') },
            ...{ decision_token: null, expires_at: null },
          },
        ],
      },
    },
    {
      ...{ row: 'POST /api/v1/actions/dry-run', by: agentKey, body: { action_spec: RISKY } },
      answer: {
        dry_run: true,
        decision: {
          ...decision('requires_approval'),
          ...{ matched_rules: [TEXT], risk_factors: expect.any(Array), approver_groups: expect.any(Array) },
        },
        trace: every({
          ...{ policy_id: id('pol'), policy_name: TEXT, scope_matched: expect.any(Boolean) },
          rules: expect.any(Array),
        }),
        policies_evaluated: NUMBER,
        agent: { id: id('agent'), environment: 'development' },
      },
      also: ({ body }) => {
        const rules = at<{ rules: Record<string, unknown>[] }[]>(body, 'trace').flatMap(
          (policy) => policy.rules,
        )
        for (const rule of rules) {
          expect(Object.keys(rule).sort()).toEqual([
            'conditions_matched',
            'decision',
            'failed_condition',
            'rule_name',
          ])
        }
        expect(rules.some((rule) => rule['conditions_matched'] === false && rule['failed_condition'])).toBe(
          true,
        )
      },
    },
    {
      ...{ row: 'GET /api/v1/actions/:actionRequestId', by: agentKey },
      given: async () => ({ path: `/api/v1/actions/${(await world().allowed()).id}` }),
      answer: {
        ...{
          action_request_id: id('act'),
          status: 'allowed',
          action_spec: ALLOWED,
          decision: decision('allow'),
        },
        ...{ decision_token: TOKEN, created_at: ISO, expires_at: ISO, approval: null },
      },
    },
    {
      ...{ row: 'POST /api/v1/actions/:actionRequestId/execute', by: agentKey, given: act('/execute') },
      answer: {
        ...{ executed: true, action_request_id: id('act') },
        gateway_response: { status: 201, result: { number: 3 } },
      },
    },
    {
      ...{ row: 'POST /api/v1/actions/:actionRequestId/cancel', by: agentKey },
      given: async () => ({ path: `/api/v1/actions/${(await world().pending()).id}/cancel` }),
      answer: { action_request_id: id('act'), status: 'cancelled' },
    },
    {
      ...{ row: 'POST /api/v1/agents/register', by: agentKey },
      body: { name: 'registered', runtime: 'x', environment: 'production' },
      answer: {
        agent_id: id('agent'),
        api_key: expect.stringMatching(/^svc_live_\w{32,}$/),
        api_key_prefix: expect.stringMatching(/^svc_live_\w{6}$/),
      },
    },
    { row: 'GET /api/v1/policies', by: agentKey, answer: { policies: every(policySummary) } },
    {
      ...{ row: 'GET /api/v1/audit/events', by: agentKey, path: '/api/v1/audit/events?limit=3&offset=1' },
      answer: { events: expect.any(Array), total: NUMBER, limit: 3, offset: 1 },
      also: ({ body }) => {
        expect(at(body, 'events')).toHaveLength(3)
        for (const event of at<object[]>(body, 'events')) {
          const known = { id: expect.stringMatching(/^evt_\d{12}$/), event_type: TEXT, org_id: id('org') }
          expect(event).toMatchObject({ ...known, details: expect.any(Object), created_at: ISO })
        }
      },
    },
    {
      ...{ row: 'POST /api/v1/approvals/:approvalId/respond', by: member },
      given: async () => ({
        path: `/api/v1/approvals/${(await world().pending()).approval}/respond`,
        body: { decision: 'approve', reason: 'fine' },
      }),
      answer: { approval_id: id('apr'), status: 'approved', decision_token: TOKEN },
    },
    {
      ...{ row: 'POST /api/v1/org/kill-switch', as: 'off', by: agentKey, body: { active: false } },
      answer: { kill_switch: false },
    },
    {
      ...{ row: 'POST /api/v1/tokens/verify', as: 'valid', by: nobody },
      given: async () => {
        const { id: action_request_id, token: decision_token } = await world().allowed()
        return { body: { decision_token, action_request_id } }
      },
      answer: {
        valid: true,
        payload: {
          sub: id('agent'),
          org: id('org'),
          act: id('act'),
          ash: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      },
    },
    {
      ...{ row: 'POST /api/v1/tokens/verify', as: 'used', by: nobody },
      given: async () => {
        const { id: action_request_id, token: decision_token } = await world().allowed()
        const body = { decision_token, action_request_id }
        await world().by.nobody('POST', '/api/v1/tokens/verify', body)
        return { body }
      },
      answer: { valid: false, error: 'Nonce already used' },
    },
  ]
}
