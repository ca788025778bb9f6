import { createHash } from 'node:crypto'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canonicalJson } from '../../../core/action/spec.ts'
import { at } from '../routes/start.ts'
import { ALLOWED, RISKY, startWorld, type TestAgent, type World } from './world.ts'

let world: World
let agent: TestAgent

beforeAll(async () => {
  world = await startWorld()
  agent = await world.agent()
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

const SPELLINGS: ReadonlyArray<readonly [string, object]> = [
  ['target', { target: 'acme/site' }],
  ['target in capitals', { target: 'ACME/Site' }],
  ['target of a clone', { target: 'Acme/site.git' }],
  ['organization and repository', { organization: 'acme', repository: 'site' }],
  ['organization and repository in capitals', { organization: 'ACME', repository: 'SITE' }],
  ['organization and repository of a clone', { organization: 'Acme', repository: 'Site.git' }],
  ['all three', { target: 'acme/Site', organization: 'Acme', repository: 'site.git' }],
]

describe.each(SPELLINGS)('a repository named by %s', (_what, names) => {
  const spec = { ...RISKY, resource: { provider: 'codehost', ...names } }

  test('is one target for the approver and in the audit log', async () => {
    const { body, text } = await agent.call('POST', '/api/v1/actions', { action_spec: spec })
    expect(body['status'], text).toBe('pending_approval')
    const approvals = await world.sql<{ card: { target: string } }>(
      'select card from approvals where id = $1',
      [at(body, 'approval', 'id')],
    )
    expect(approvals.map(({ card }) => card.target)).toEqual(['acme/site'])
    const events = await world.sql<{ details: { resource: { target: string } } }>(
      "select details from audit_events where action_request_id = $1 and event_type = 'action.requested'",
      [body['action_request_id']],
    )
    expect(events.map(({ details }) => details.resource.target)).toEqual(['acme/site'])
  })

  test('is decided the same in a dry run', async () => {
    const { body } = await agent.call('POST', '/api/v1/actions/dry-run', { action_spec: spec })
    expect(at(body, 'decision', 'outcome')).toBe('requires_approval')
  })
})

test.each(['acme/site', 'ACME/Site', 'Acme/site.git'])(
  'the token for %s is bound to the spelling as sent',
  async (target) => {
    const spec = { ...ALLOWED, resource: { provider: 'codehost', target } }
    const { body, text } = await agent.call('POST', '/api/v1/actions', { action_spec: spec })
    expect(body['status'], text).toBe('allowed')
    const { ash } = decodeJwt(at(body, 'decision_token'))
    expect(ash).toBe(createHash('sha256').update(canonicalJson(spec)).digest('hex'))
  },
)

test.each([
  ['/api/v1/actions', (spec: object) => ({ action_spec: spec }), 'action_spec.resource.target'],
  ['/api/v1/actions/dry-run', (spec: object) => ({ action_spec: spec }), 'action_spec.resource.target'],
  [
    '/api/v1/actions/batch',
    (spec: object) => ({ actions: [{ action_spec: spec }] }),
    'actions.0.action_spec.resource.target',
  ],
])('%s refuses two repositories in one resource, and stores nothing', async (path, bodyOf, field) => {
  const count = async () => (await world.sql('select 1 from action_requests')).length
  const before = await count()
  const resource = { provider: 'codehost', target: 'acme/site', organization: 'acme', repository: 'prod' }
  const answer = await agent.call('POST', path, bodyOf({ ...RISKY, resource }))
  expect(answer.status).toBe(400)
  expect(answer.body['details']).toContain(`${field}: differs from organization and repository`)
  expect(await count()).toBe(before)
})
