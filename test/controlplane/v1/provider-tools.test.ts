import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at } from '../routes/start.ts'
import { startWorld, type TestAgent, type World } from './world.ts'

let world: World
let agent: TestAgent

beforeAll(async () => {
  world = await startWorld()
  const connector = await world.admin('POST', '/api/dashboard/connectors', { type: 'llm_a', token: 'secret' })
  if (connector.status !== 200) throw new Error(connector.text)
  for (const [action_pattern, decision] of [
    ['llm_a.response.*', 'allow'],
    ['llm_a.provider_tool.mcp', 'allow'],
    ['llm_a.*', 'deny'],
  ]) {
    const body = { gateway_name: 'default/local', connector_type: 'llm_a', action_pattern, decision }
    const made = await world.admin('POST', '/api/dashboard/permissions', body)
    if (made.status !== 200) throw new Error(made.text)
  }
  agent = await world.agent()
})
afterAll(() => world?.[Symbol.asyncDispose]())

async function asked(path: string, parameters: object) {
  const action_spec = {
    type: 'llm_a.response.create',
    resource: { provider: 'llm_a' },
    parameters: { model: 'm', input: 'x', ...parameters },
  }
  return agent.call('POST', path, { action_spec })
}

describe('an action that is submitted by its name', () => {
  test.each([
    ['a sandbox of the provider', { tools: [{ type: 'code_interpreter' }] }, 'llm_a.provider_tool.code'],
    ['a response in the background', { background: true }, 'llm_a.hosted_agent.run'],
    ['a tool of an unknown type', { tools: [{ type: 'teleport' }] }, 'llm_a.provider_tool.unknown'],
    [
      'a server that permissions allow',
      { tools: [{ type: 'mcp', server_url: 'https://a.example/' }] },
      'a.example',
    ],
  ])('is decided with what its parameters make the provider do: %s', async (_what, parameters, named) => {
    for (const path of ['/api/v1/actions/dry-run', '/api/v1/actions']) {
      const { body } = await asked(path, parameters)
      expect(at<string>(body, 'decision', 'outcome')).toBe('deny')
      expect(at<string>(body, 'decision', 'reason')).toContain(named)
    }
  })

  test('computes with functions of the caller', async () => {
    const tools = [{ type: 'function', name: 'f', parameters: { tools: [{ type: 'mcp' }] } }]
    for (const path of ['/api/v1/actions/dry-run', '/api/v1/actions'])
      expect(at<string>((await asked(path, { tools })).body, 'decision', 'outcome')).toBe('allow')
  })

  test('is denied under a kill switch for the Connector whose host the provider would reach', async () => {
    const made = await world.admin('POST', '/api/dashboard/connectors', {
      ...{ type: 'generic', token: 'secret', domains: ['tools.example.com'] },
    })
    expect(made.status).toBe(200)
    const kill = (active: boolean) =>
      world.admin('POST', '/api/dashboard/kill-switch', {
        ...{ active, scope: 'connector:generic', reason: 'incident 7' },
      })
    expect((await kill(true)).status).toBe(200)
    const tools = [{ type: 'mcp', server_url: 'https://tools.example.com/mcp' }]
    for (const path of ['/api/v1/actions/dry-run', '/api/v1/actions']) {
      const { body } = await asked(path, { tools })
      expect(at<string>(body, 'decision', 'reason')).toBe('Kill switch active: incident 7')
      expect(at<string>((await asked(path, {})).body, 'decision', 'outcome')).toBe('allow')
    }
    await kill(false)
    const { body } = await asked('/api/v1/actions/dry-run', { tools })
    expect(at<string>(body, 'decision', 'reason')).not.toContain('Kill switch')
  })
})
