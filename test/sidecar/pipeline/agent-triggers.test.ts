import { describe, expect, it } from 'vitest'
import { expectRefused, start } from './pipeline-world.ts'
import type { Rules } from './test-world.ts'

const rules: Rules = {
  connectors: [
    { type: 'codehost', agentTriggers: { accounts: [], labels: ['autofix'], mentions: ['acme-agent'] } },
  ],
  permissions: [['codehost.*', 'allow']],
  policies: [
    {
      document: {
        rules: [{ name: 'r', conditions: ['"delegate" in action.effects'], decision: 'deny' }],
      },
    },
  ],
}

const post = (target: string, body: object) => ({
  ...{ method: 'POST', target: `/repos/o/r/issues/1/${target}` },
  ...{ headers: ['Content-Type', 'application/json'], body: JSON.stringify(body) },
})

describe('what starts an agent by a pattern of the Connector', () => {
  it.each([
    ['labels', { labels: ['autofix'] }],
    ['comments', { body: 'Fix it, @acme-agent.' }],
  ])('is denied by a rule about delegate: %s', async (target, body) => {
    const world = await start(rules)
    expect((await world.send(post(target, body))).reply.status).toBe(403)
    expectRefused(world)
    expect(world.records[0]?.effects).toEqual(['delegate'])
  })

  it('and nothing else is', async () => {
    const world = await start(rules)
    expect((await world.send(post('labels', { labels: ['bug'] }))).reply.status).toBe(200)
    expect((await world.send(post('comments', { body: 'autofix' }))).reply.status).toBe(200)
    expect(world.upstream.seen).toHaveLength(2)
  })
})

describe('a mention of an agent in the chat', () => {
  const ofChat: Rules = {
    ...rules,
    connectors: [
      { type: 'chat', agentTriggers: { accounts: [], labels: [], mentions: ['U0AGENT', 'acme-agent'] } },
    ],
    permissions: [['chat.*', 'allow']],
  }
  const call = (method: string, body: object) => ({
    ...{ method: 'POST', host: 'slack.com', target: `/api/${method}` },
    ...{ headers: ['Content-Type', 'application/json'], body: JSON.stringify(body) },
  })
  const UPLOAD = { files: [{ id: 'F1' }], channel_id: 'C1' }
  const UNFURL = { channel: 'C1', ts: '1.2' }
  const RICH = [{ type: 'rich_text', elements: [{ type: 'user', user_id: 'U0AGENT' }] }]
  const section = (text: string) => [{ type: 'section', text: { type: 'mrkdwn', text } }]

  it.each([
    ['files.completeUploadExternal', { ...UPLOAD, initial_comment: 'See <@U0AGENT>.' }],
    ['files.completeUploadExternal', { ...UPLOAD, blocks: RICH }],
    ['files.completeUploadExternal', { ...UPLOAD, blocks: JSON.stringify(RICH) }],
    ['chat.unfurl', { ...UNFURL, unfurls: { 'https://x.test': { blocks: section('Hi <@U0AGENT>') } } }],
    ['chat.unfurl', { ...UNFURL, unfurls: '{"https://x.test":{"text":"@acme-agent"}}' }],
    ['chat.unfurl', { ...UNFURL, unfurls: {}, user_auth_blocks: section('<@U0AGENT>') }],
  ])('is denied by a rule about delegate: %s %j', async (method, body) => {
    const world = await start(ofChat)
    expect((await world.send(call(method, body))).reply.status).toBe(403)
    expectRefused(world)
    expect(world.records[0]?.effects).toContain('delegate')
  })

  it.each([
    ['files.completeUploadExternal', { ...UPLOAD, initial_comment: 'See <@U0OTHER>.' }],
    ['chat.unfurl', { ...UNFURL, unfurls: { 'https://x.test': { text: 'acme-agent' } } }],
  ])('and nothing else is: %s %j', async (method, body) => {
    const world = await start(ofChat)
    expect((await world.send(call(method, body))).reply.status).toBe(200)
  })
})
