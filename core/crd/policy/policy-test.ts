import * as z from 'zod'
import { described } from '../described.ts'
import { boundedMap } from '../fields.ts'

export const PolicyTestAction = z.strictObject({
  type: described(z.string().min(1).max(300), 'Name of the action.', 'codehost.pr.merge'),
  resource: described(
    z.strictObject({
      provider: described(z.string().min(1).max(253), 'Type of the Connector.', 'codehost'),
      account: described(z.string().max(253).optional(), 'Account at the provider.', 'acct_1'),
      target: described(z.string().max(1_000).optional(), 'Target of the action.', 'acme/site'),
      environment: described(
        z.string().max(64).optional(),
        'Environment of the resource. If absent, the environment of the agent.',
        'production',
      ),
    }),
    'Resource that the action acts on.',
    { provider: 'codehost', target: 'acme/site' },
  ),
  parameters: described(boundedMap(z.unknown(), 128).default({}), 'Values of `parameters` in conditions.', {
    number: 7,
  }),
  risk_hints: described(boundedMap(z.boolean(), 64).default({}), 'Values of `hints` in conditions.', {
    irreversible: true,
  }),
  context: described(
    boundedMap(z.unknown(), 128).default({}),
    'Values of `context` in conditions, which a caller of the v1 API adds to an action.',
    { reason: 'release 1.2' },
  ),
})

const PolicyTestRequest = z.strictObject({
  method: described(z.string().max(32).default('GET'), 'Method of the request.', 'PUT'),
  host: described(z.string().max(253).default('api.example.com'), 'Host of the request.', 'api.github.com'),
  path: described(
    z.string().max(2_000).default('/'),
    'Path of the request, without query.',
    '/repos/acme/site/pulls/7/merge',
  ),
  query: described(boundedMap(z.string().max(8_000), 128).default({}), 'Query parameters by name.', {
    per_page: '100',
  }),
  headers: described(
    boundedMap(z.string().max(8_000), 128).default({}),
    'Header fields by name in lower case.',
    { 'x-tenant': 'acme' },
  ),
  body: described(z.unknown().optional(), 'Body of the request as JSON.', { merge_method: 'squash' }),
})

/** Test of a policy: an action with its agent and request, and the expected result. */
export const PolicyTest = z.strictObject({
  name: described(
    z.string().min(1).max(200),
    'Name of the test, as a sentence.',
    'merging requires an approval',
  ),
  action: PolicyTestAction,
  request: described(
    PolicyTestRequest.optional(),
    'Values of `request` in conditions. If absent, the test is for an action that was submitted to POST /api/v1/actions, which has no request.',
    { method: 'PUT' },
  ),
  agent: described(
    z
      .strictObject({
        name: described(z.string().max(253).default('test'), 'Name of the agent.', 'release-bot'),
        environment: described(
          z.string().max(64).default('production'),
          'Environment of the agent.',
          'staging',
        ),
      })
      .prefault({}),
    'Agent that requests the action.',
  ),
  now: described(
    z.iso.datetime().max(40).optional(),
    'Time of the request (RFC 3339, UTC). If absent, 2026-01-01T12:00:00Z.',
    '2026-01-31T09:00:00Z',
  ),
  expect: described(
    z.strictObject({
      outcome: described(
        z.enum(['allow', 'deny', 'requires_approval', 'no_opinion']),
        'Expected outcome of the policy. `no_opinion`: no rule matches.',
        'requires_approval',
      ),
      rule: described(z.string().max(128).optional(), 'Name of the rule that must match.', 'writes'),
    }),
    'Expected result.',
    { outcome: 'requires_approval' },
  ),
})

export type PolicyTest = z.infer<typeof PolicyTest>
