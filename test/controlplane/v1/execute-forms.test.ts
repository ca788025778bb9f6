import { afterAll, beforeAll, expect, test } from 'vitest'
import { FILE_ACTIONS } from '../../../controlplane/features/actions/executions/file-actions.ts'
import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import { storedHeader } from '../../support/every-connector.ts'
import { type ExecutionWorld, startExecutionWorld } from './execution-world.ts'
import type { TestAgent } from './world.ts'

let here: ExecutionWorld
let agent: TestAgent

beforeAll(async () => {
  here = await startExecutionWorld()
  agent = await here.world.agent()
})
afterAll(() => here?.[Symbol.asyncDispose]())

test.each([
  [
    'generic' as const,
    {
      type: 'generic.post',
      resource: { target: 'api.generic.test/v2/orders' },
      parameters: { body: { n: 1 }, query: { dry: 'yes' } },
    },
    ['POST', '/v2/orders?dry=yes', 'api.generic.test', { n: 1 }],
  ],
  [
    'webhook' as const,
    { type: 'webhook.put', parameters: { url: 'https://hooks.webhook.test/in/7', body: ['a'] } },
    ['PUT', '/in/7', 'hooks.webhook.test', ['a']],
  ],
  [
    'mcp' as const,
    { type: 'mcp.tools.create_issue', parameters: { path: '/mcp', arguments: { title: 'x' } } },
    [
      ...['POST', '/mcp', 'tools.mcp.test'],
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'create_issue', arguments: { title: 'x' } },
      },
    ],
  ],
])('an action of %s becomes one real request with the stored credential', async (type, spec, expected) => {
  const action = await here.allowed(agent, spec)
  const before = here.upstream.seen.length
  const answer = await here.execute(agent, action)
  expect(answer.body, answer.text).toEqual({
    executed: true,
    action_request_id: action.id,
    gateway_response: { status: 201, result: { done: true } },
  })
  expect(here.upstream.seen.length).toBe(before + 1)
  const seen = here.upstream.seen.at(-1)
  const [name, value] = storedHeader(type)
  expect(seen?.header(name)).toBe(value)
  expect([seen?.method, seen?.target, seen?.header('host'), JSON.parse(seen?.body.toString() ?? '')]).toEqual(
    expected,
  )
  if (type === 'mcp') expect(seen?.rawHeaders.join(' ')).toContain('application/json, text/event-stream')
  const status = await agent.call('GET', `/api/v1/actions/${action.id}`)
  expect(status.body['status']).toBe('executed')
})

test.each<readonly [{ type: string; resource?: object; parameters?: object }, string]>([
  [
    { type: 'generic.post', parameters: { body: {} } },
    'action_spec.parameters.path: is required to execute the action',
  ],
  [
    { type: 'generic.post', resource: { target: 'api.github.com/user' } },
    'api.github.com is not a host of a generic Connector',
  ],
  [
    { type: 'generic.get', parameters: { path: '/a', data: 1 } },
    'action_spec.parameters.data: has no effect on this action',
  ],
  [{ type: 'webhook.post', parameters: { path: '/a/../b' } }, 'action_spec.parameters: '],
  [{ type: 'mcp.tools.create_issue' }, 'action_spec.parameters.path: is required to execute the action'],
  [
    { type: 'mcp.tools.create_issue', parameters: { path: '/mcp', title: 'x' } },
    'action_spec.parameters.title: has no effect',
  ],
  [
    { type: 'mcp.rpc.stream_open', parameters: { path: '/mcp' } },
    'action_spec.type: the action mcp.rpc.stream_open does not name an MCP request',
  ],
  [
    {
      type: 'codehost.file.create',
      resource: { target: 'a/b' },
      parameters: { path: 'x', content: '', sha: 'abc' },
    },
    'describe the action codehost.file.update',
  ],
  ...[
    { type: 'llm_a.file.upload', parameters: { purpose: 'batch', file: 'a' } },
    { type: 'llm_a.audio.transcribe', parameters: { model: 'm' } },
    { type: 'llm_b.file.upload', parameters: {} },
    { type: 'payments.file.upload', parameters: { purpose: 'dispute_evidence' } },
    {
      type: 'codehost.release_asset.upload',
      resource: { target: 'a/b' },
      parameters: { id: 1, name: 'x.zip' },
    },
    { type: 'chat.user.set_photo', parameters: {} },
  ].map((spec) => [spec, `${spec.type} sends a file, which an action spec cannot carry; send`] as const),
  [
    { type: 'llm_a.container_file.create', parameters: { container_id: 'c' } },
    'cannot carry; give parameters.file_id, or send the request itself',
  ],
])('%j is answered 400 that says why; nothing is sent and the token stays good', async (spec, text) => {
  const action = await here.allowed(agent, spec)
  const before = here.upstream.seen.length
  const answer = await here.execute(agent, action)
  expect([answer.status, answer.body['error']]).toEqual([400, 'Validation failed'])
  expect(answer.body['details']).toContain(text)
  expect(here.upstream.seen.length).toBe(before)
  const status = await agent.call('GET', `/api/v1/actions/${action.id}`)
  expect(status.body).toMatchObject({ status: 'allowed', decision_token: action.token })
})

test('every action that sends a file is one that the catalogue names', () => {
  const { knownAction } = createCatalogue()
  for (const type of FILE_ACTIONS.keys()) expect(knownAction(type), type).not.toBeNull()
})

test('an action that needs no file is executed', async () => {
  const parameters = { container_id: 'cont_1', file_id: 'file-9' }
  const action = await here.allowed(agent, { type: 'llm_a.container_file.create', parameters })
  const answer = await here.execute(agent, action)
  expect(answer.status, answer.text).toBe(200)
  const seen = here.upstream.seen.at(-1)
  expect([seen?.target, seen?.body.toString()]).toEqual([
    '/v1/containers/cont_1/files',
    '{"file_id":"file-9"}',
  ])
})
