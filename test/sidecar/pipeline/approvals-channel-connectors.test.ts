import { describe, expect, it } from 'vitest'
import {
  approvalsChannelConnectorsPolicy,
  approvalsChannelElsewherePolicy,
} from '../../../core/decision/policies/approvals-channel.ts'
import { expectRefused, JSON_BODY, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const CHANNEL = 'C0APPROVALS'
const POST: TestExchangeInput = {
  ...{ method: 'POST', host: 'slack.com', target: '/api/chat.postMessage', headers: JSON_BODY },
  body: JSON.stringify({ channel: CHANNEL, text: 'x' }),
}
type Connector = NonNullable<Rules['connectors']>[number]

/** More than fit into one rule. */
const MANY = [...Array.from({ length: 120 }, (_, n) => `team/chat-${n}`), 'proxied']

const world = (connector: Connector, channel = CHANNEL) =>
  start({
    connectors: [{ id: 'conn_other', name: 'other', ...connector }],
    permissions: [[`${connector.type}.*`, 'allow']],
    policies: [
      approvalsChannelElsewherePolicy(channel),
      approvalsChannelConnectorsPolicy(channel, MANY),
      {
        id: 'pol_allow',
        priority: 1_000_000,
        document: { scope: { actions: ['*'] }, rules: [{ name: 'all', decision: 'allow' }] },
      },
    ],
  })

const call = (args: unknown, extra: object = {}) => ({
  ...POST,
  host: 'mcp.slack.com',
  target: '/mcp',
  body: JSON.stringify({
    ...{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'send_message', arguments: args } },
    ...extra,
  }),
})
const MCP: Connector = { type: 'mcp', domains: ['mcp.slack.com'], endpoint: ['/mcp'] }
/** Deeper than a condition looks. */
const NESTED = { a: { b: { c: { d: { channel_id: CHANNEL } } } } }

const DENIED: Record<string, readonly [Connector, TestExchangeInput]> = {
  'a generic connector': [{ type: 'generic', domains: ['slack.com'] }, POST],
  'a generic connector, by another method': [
    { type: 'generic', domains: ['slack.com'] },
    { ...POST, method: 'GET', target: `/api/chat.postMessage?channel=${CHANNEL}`, body: '' },
  ],
  'a generic connector of the host in capitals': [
    { type: 'generic', domains: ['slack.com'] },
    { ...POST, host: 'SLACK.com.' },
  ],
  'a generic connector of the workspace': [
    { type: 'generic', domains: ['acme.slack.com'] },
    { ...POST, host: 'acme.slack.com' },
  ],
  'a generic connector of a wildcard': [
    { type: 'generic', domains: ['*.slack.com'] },
    { ...POST, host: 'acme.slack.com' },
  ],
  'a generic connector for government': [
    { type: 'generic', domains: ['slack-gov.com'] },
    { ...POST, host: 'slack-gov.com' },
  ],
  'a generic connector that is sent to the chat': [
    { name: 'proxied', type: 'generic', domains: ['chat.one.test'] },
    { ...POST, host: 'chat.one.test' },
  ],
  'a webhook connector': [{ type: 'webhook', domains: ['slack.com'] }, POST],
  'a connector of another provider': [{ type: 'codehost', domains: ['slack.com'] }, POST],
  'a declared action of a generic connector': [
    {
      ...{ type: 'generic', domains: ['slack.com'] },
      actions: [
        {
          method: 'POST',
          path: '/api/chat.postMessage',
          action: 'generic.say',
          effect: 'write',
          risk: 'low',
        },
      ] as never,
    },
    POST,
  ],
  'an MCP tool': [MCP, call({ channel_id: CHANNEL, message: 'x' })],
  'an MCP tool, by another field': [MCP, call({ where: CHANNEL })],
  'an MCP tool, in a list': [MCP, call({ channels: ['C0OTHER', CHANNEL] })],
  'an MCP tool, in an object': [MCP, call({ to: { channel: CHANNEL } })],
  'an MCP tool, in a text': [MCP, call({ query: `in:<#${CHANNEL}> refund` })],
  'an MCP tool, as a name': [MCP, call({ [CHANNEL]: 'x' })],
  'an MCP tool, deep inside': [MCP, call(NESTED)],
  'an MCP tool, in a list of objects': [MCP, call({ where: [{ channel: CHANNEL }] })],
  'an MCP tool, by the name of the channel': [MCP, call({ channel: '#approvals' })],
  'an MCP tool, by the name of the channel in a list': [MCP, call({ channel_ids: ['approvals'] })],
  'an MCP tool with arguments in a text': [MCP, call(JSON.stringify({ channel_id: CHANNEL }))],
  'an MCP tool of a proxy': [
    { ...MCP, name: 'proxied', domains: ['mcp.one.test'] },
    { ...call({ channel_id: CHANNEL }), host: 'mcp.one.test' },
  ],
}

const PASSED: Record<string, readonly [Connector, TestExchangeInput]> = {
  'another host': [
    { type: 'generic', domains: ['api.one.test'] },
    { ...POST, host: 'api.one.test' },
  ],
  'a host that ends alike': [
    { type: 'generic', domains: ['notslack.com'] },
    { ...POST, host: 'notslack.com' },
  ],
  'an incoming webhook, which has one channel of its own': [
    { type: 'webhook', domains: ['hooks.slack.com'] },
    { ...POST, host: 'hooks.slack.com', target: '/services/T0/B0/x', body: '{"text":"x"}' },
  ],
  'an MCP tool for another channel': [MCP, call({ channel_id: 'C0OTHER', message: 'x' })],
  'an MCP tool for a person': [MCP, call({ channel_id: 'U0PERSON', message: 'x' })],
  'an MCP tool with a longer id': [MCP, call({ channel_id: `${CHANNEL}2` })],
  'an MCP tool without a channel': [MCP, call({ query: 'refund', limit: 10 })],
  'an MCP tool without arguments': [MCP, call(undefined)],
  'the list of MCP tools': [MCP, call(undefined, { method: 'tools/list', params: {} })],
  'an MCP tool of another server': [
    { ...MCP, domains: ['mcp.one.test'] },
    { ...call({ channel: 'news' }), host: 'mcp.one.test' },
  ],
}

describe('the channel of the approvals is no target for agents of other connectors', () => {
  it.each(Object.entries(DENIED))(
    '%s is refused, and the upstream sees nothing',
    async (_name, [connector, input]) => {
      const here = await world(connector)
      const { reply } = await here.send(input)
      // A refused message of MCP is answered as JSON-RPC.
      expect(reply.status === 403 || reply.text().includes('"error":"denied"'), reply.text()).toBe(true)
      expect(reply.text()).not.toContain('does not compile')
      expectRefused(here)
      expect(here.records[0]).toMatchObject({ decision: 'DENY', reason: 'policy' })
      expect(here.records[0]?.policies[0]).toMatch(/^pol_approvals_channel_(elsewhere|connectors)@1$/)
    },
  )

  it.each(Object.entries(PASSED))('%s passes', async (_name, [connector, input]) => {
    const here = await world(connector)
    const { reply } = await here.send(input)
    expect(reply.status, reply.text()).toBe(200)
    expect(here.upstream.seen).toHaveLength(1)
  })

  it('says what to do', async () => {
    const here = await world({ type: 'generic', domains: ['slack.com'] })
    expect((await here.send(POST)).reply.text()).toContain('type chat')
  })

  it('refuses every tool of the chat while the setting is not an id', async () => {
    const here = await world(MCP, '#approvals')
    const { reply } = await here.send(call({ channel_id: 'C0OTHER' }))
    expect(reply.text()).toContain('chat_channel_id')
    expectRefused(here)
  })
})
