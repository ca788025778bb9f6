import { describe, expect, it } from 'vitest'
import { listedActions } from './listed-actions.ts'
import { JSON_BODY, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const OWN = 'canary-of-the-agent'
const HEADERS = [...JSON_BODY, 'Authorization', `Bearer ${OWN}`, 'X-Api-Key', OWN]
const post = (host: string, target: string, body: unknown): TestExchangeInput => ({
  ...{ method: 'POST', host, target, headers: HEADERS, body: JSON.stringify(body) },
})
const denied = (type: 'mcp' | 'codehost' | 'llm_a' | 'llm_b' | 'chat' | 'payments', host: string): Rules => ({
  connectors: [{ type, domains: [host], auth: { type: 'bearer' } }],
  permissions: [[`${type}.*`, 'deny']],
})
const call = (id: number, name: string) => ({
  ...{ jsonrpc: '2.0', id, method: 'tools/call', token: OWN, access_token: OWN },
  params: { name, arguments: { path: 'a' }, token: OWN },
})
const MUTATIONS =
  'mutation { a: mergePullRequest(input: {pullRequestId: "x"}) { clientMutationId } b: addStar(input: {starrableId: "y"}) { clientMutationId } }'
const REMOTE = {
  ...{ type: 'mcp', server_label: 'x', server_url: 'https://x.example/mcp' },
  ...{ authorization: OWN, headers: { Authorization: OWN } },
}

describe('the audit data of a refused request', () => {
  it.each<[string, Rules, TestExchangeInput, number]>([
    [
      'a batch of MCP calls',
      denied('mcp', 'tools.example'),
      post('tools.example', `/mcp?token=${OWN}&access_token=${OWN}`, [call(1, 'read'), call(2, 'write')]),
      2,
    ],
    [
      'two mutations of GraphQL',
      denied('codehost', 'api.github.com'),
      post('api.github.com', `/graphql?client_secret=${OWN}&api_key=${OWN}`, { query: MUTATIONS }),
      2,
    ],
    [
      'a model request with tools of the provider',
      denied('llm_a', 'api.openai.com'),
      post('api.openai.com', `/v1/responses?key=${OWN}`, {
        ...{ model: 'm', input: 'x', key: OWN, token: OWN },
        tools: [REMOTE, { type: 'web_search' }],
      }),
      3,
    ],
    [
      'a model request with an MCP server',
      denied('llm_b', 'api.anthropic.com'),
      post('api.anthropic.com', `/v1/messages?token=${OWN}`, {
        ...{ model: 'm', max_tokens: 1, messages: [], token: OWN },
        mcp_servers: [
          { type: 'url', url: 'https://x.example/sse', name: 'x', authorization_token: OWN },
          { type: 'url', url: 'https://y.example/sse', name: 'y', authorization_token: OWN },
        ],
      }),
      3,
    ],
    [
      'a message with the token in its body',
      denied('chat', 'slack.com'),
      post('slack.com', `/api/chat.postMessage?token=${OWN}`, {
        ...{ channel: 'C1', text: 'hi', token: OWN, 'Token[]': OWN },
      }),
      1,
    ],
    [
      'a refund with the key in its form',
      denied('payments', 'api.stripe.com'),
      {
        ...{ method: 'POST', host: 'api.stripe.com', target: `/v1/refunds?_stripe_key=${OWN}` },
        headers: ['Content-Type', 'application/x-www-form-urlencoded'],
        body: `amount=5&key=${OWN}&Key[]=${OWN}`,
      },
      1,
    ],
  ])('has no credential of the agent for %s', async (_what, rules, input, count) => {
    const world = await start(rules)
    await world.send(input)
    expect(world.upstream.seen).toEqual([])
    expect(world.records).toHaveLength(1)
    const [record] = world.records
    const parameters = record?.audit?.requested['parameters']
    expect(count === 1 ? [parameters] : listedActions(parameters)).toHaveLength(count)
    expect(record?.action_count ?? 1).toBe(count)
    expect(JSON.stringify(world.records)).not.toContain(OWN)
  })

  it('has the parameters that only share their name with a credential', async () => {
    const world = await start(denied('codehost', 'api.github.com'))
    await world.send({ method: 'DELETE', host: 'api.github.com', target: '/applications/Iv1.app/grant' })
    expect(world.upstream.seen).toEqual([])
    expect(world.records).toHaveLength(1)
    expect(world.records[0]?.audit?.requested['parameters']).toEqual({ client_id: 'Iv1.app' })
  })
})
