import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAX_CONNECTORS_TO_CHAT } from '../../../controlplane/features/chat/bot/bot.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestDatabase, TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { at } from '../routes/start.ts'
import { type ChatPlane, type FakeChat, startChat, startChatPlane, TEAM } from './chat-world.ts'

const OWN = 'xoxb-canary-of-the-approvals'
const CONNECTORS = '/api/dashboard/connectors'
const SETTINGS = '/api/dashboard/settings'

let postgres: TestPostgres
let database: TestDatabase
let chat: FakeChat
let plane: ChatPlane

beforeAll(async () => {
  postgres = await workerPostgres()
  database = await postgres.createMigratedDatabase()
  chat = await startChat()
  const bot = { team_id: TEAM, bot_id: 'B0APPROVALS', user_id: 'U0APPROVALS' }
  chat.bots.set(OWN, bot)
  chat.bots.set('xoxb-rotated', bot)
  chat.bots.set('xoxp-of-the-same-user', { team_id: TEAM, user_id: 'U0APPROVALS' })
  chat.bots.set('xoxb-of-agents', { team_id: TEAM, bot_id: 'B0AGENTS', user_id: 'U0AGENTS' })
  chat.bots.set('xoxb-elsewhere', { ...bot, team_id: 'T0OTHER' })
  chat.bots.set('xoxb-late', bot)
  plane = await startChatPlane(database, chat)
  const settings = { chat_bot_token: OWN }
  expect((await plane.owner('PUT', SETTINGS, { settings })).status).toBe(200)
})
afterAll(async () => {
  await plane?.[Symbol.asyncDispose]()
  await chat?.[Symbol.asyncDispose]()
  await postgres?.stop()
})

const stored = async () => (await plane.db.query('select id from connectors')).rows.length
const connector = (token: string, extra: object = {}) => ({ type: 'chat', token, ...extra })
const agent = { name: 'one', runtime: 'x', environment: 'test' }

describe('a Connector is not given the bot that shows approvals', () => {
  test.each([
    ['the token itself', OWN, {}],
    ['the token with blanks around it', ` ${OWN}\n`, {}],
    ['the token with its scheme', `Bearer ${OWN}`, {}],
    ['the token on a connector of another type', OWN, { type: 'generic', domains: ['slack.com'] }],
    ['another token of the same bot', 'xoxb-rotated', {}],
    ['another token of the same bot with its scheme', 'Bearer xoxb-rotated', {}],
    [
      'another token of the bot on a generic connector',
      'xoxb-rotated',
      { type: 'generic', domains: ['slack.com'] },
    ],
    ['the token of the bot among others', `token=${OWN}; x=1`, { type: 'generic', domains: ['slack.com'] }],
    [
      'another token of the bot on a webhook',
      'Bearer xoxb-rotated',
      { type: 'webhook', domains: ['chat.one.test'] },
    ],
    [
      'another token of the bot on an MCP server',
      'xoxb-rotated',
      { type: 'mcp', domains: ['mcp.slack.com'] },
    ],
    ['a token of the same user', 'xoxp-of-the-same-user', {}],
  ])('by %s: not added, not set up, and the refusal says what to do', async (_name, token, extra) => {
    const rule = { accessRule: 'allow_all' }
    const answers = [
      await plane.owner('POST', CONNECTORS, connector(token, extra)),
      await plane.owner('POST', '/api/dashboard/setup', {
        ...{ agent, connectors: [connector(token, { ...extra, ...rule })] },
      }),
      await plane.owner('POST', '/api/dashboard/gateway', {
        ...{ gateway: { name: 'edge' }, connectors: [connector(token, { ...extra, ...rule })] },
      }),
    ]
    for (const { status, body } of answers) {
      expect([status, body['message']]).toEqual([409, expect.stringContaining('a separate chat app')])
    }
    expect(await stored()).toBe(0)
    expect(plane.log()).not.toContain(OWN)
  })

  test.each([
    ['an app of its own', 'xoxb-of-agents', {}],
    ['the same ids in another workspace', 'xoxb-elsewhere', {}],
    ['a token that the provider refuses', 'xoxb-unknown', {}],
    [
      'an app of its own on a generic connector',
      'xoxb-of-agents',
      { type: 'generic', domains: ['slack.com'] },
    ],
  ])('but may have %s', async (_name, token, extra) => {
    const added = await plane.owner('POST', CONNECTORS, connector(token, extra))
    expect(added.status, added.text).toBe(200)
    const { body } = await plane.owner('GET', CONNECTORS)
    expect(at<unknown[]>(body, 'connectors', 0, 'warnings')).toEqual([])
    await plane.owner('DELETE', `${CONNECTORS}?connector_id=${at(added.body, 'id')}`)
  })

  test('nor are approvals given the bot of a Connector', async () => {
    const added = await plane.owner('POST', CONNECTORS, connector('xoxb-of-agents'))
    chat.bots.set('xoxb-agents-rotated', { team_id: TEAM, bot_id: 'B0AGENTS', user_id: 'U0AGENTS' })
    for (const chat_bot_token of ['xoxb-of-agents', ' xoxb-of-agents ', 'xoxb-agents-rotated']) {
      const { status, body } = await plane.owner('PUT', SETTINGS, { settings: { chat_bot_token } })
      expect([status, body['message']]).toEqual([409, expect.stringContaining('connector chat')])
    }
    await plane.owner('DELETE', `${CONNECTORS}?connector_id=${at(added.body, 'id')}`)
    expect((await plane.owner('POST', CONNECTORS, connector(OWN))).status).toBe(409)
  })
})

test('the provider sees no credential of another kind', async () => {
  const before = chat.calls('auth.test').length
  const extra = { type: 'generic', domains: ['api.one.test'] }
  const added = await plane.owner('POST', CONNECTORS, connector('sk-live-canary', extra))
  expect(added.status, added.text).toBe(200)
  expect(chat.calls('auth.test')).toHaveLength(before)
  await plane.owner('DELETE', `${CONNECTORS}?connector_id=${at(added.body, 'id')}`)
})

test('connectors of other types lead no agent to the channel of the approvals', async () => {
  await plane.owner('POST', '/api/dashboard/agents', agent)
  const explained = async (url: string) => {
    const query = `method=POST&url=${encodeURIComponent(url)}&agent=one`
    return String((await plane.owner('GET', `/api/dashboard/explain?${query}`)).body['text'])
  }
  const connectors = [
    ['generic', 'https://chat.one.test/api/x', { domains: ['chat.one.test'] }, 'xoxb-of-agents'],
    ['generic', 'https://slack.com/api/x', { domains: ['slack.com'] }, 'key'],
    [
      'webhook',
      'https://chat.two.test/api/x',
      { domains: ['chat.two.test'], base_url: 'https://acme.slack.com' },
      'key',
    ],
  ] as const
  for (const [type, url, extra, token] of connectors) {
    await plane.owner('PUT', SETTINGS, { settings: { chat_channel_id: '' } })
    const added = await plane.owner('POST', CONNECTORS, { type, token, ...extra })
    expect(added.status, added.text).toBe(200)
    await plane.owner('POST', '/api/dashboard/permissions', {
      ...{
        gateway_name: 'default/local',
        connector_type: type,
        action_pattern: `${type}.*`,
        decision: 'allow',
      },
    })
    await eventually('allowed', async () => ((await explained(url)).includes('ALLOW') ? true : null))
    await plane.owner('PUT', SETTINGS, { settings: { chat_channel_id: 'C0APPROVALS' } })
    await eventually('denied', async () =>
      (await explained(url)).includes('pol_approvals_channel_') ? true : null,
    )
    await plane.owner('DELETE', `${CONNECTORS}?connector_id=${at(added.body, 'id')}`)
  }
  await plane.owner('PUT', SETTINGS, { settings: { chat_channel_id: '' } })
})

test('connectors that lead to the chat get no credential beyond the limit of names in the policies', async () => {
  const added = await plane.owner('POST', CONNECTORS, {
    ...{ type: 'webhook', token: 'key', domains: ['chat0.many.test'], base_url: 'https://acme.slack.com' },
  })
  expect(added.status, added.text).toBe(200)
  await plane.owner('POST', '/api/dashboard/agents', agent)
  await plane.owner('POST', '/api/dashboard/permissions', {
    ...{ gateway_name: 'default/local', connector_type: 'webhook' },
    ...{ action_pattern: 'webhook.*', decision: 'allow' },
  })
  await plane.db.query(
    `insert into connectors select (jsonb_populate_record(c, jsonb_build_object('id', c.id || n, 'name', c.name || n,
       'credential', null, 'spec', jsonb_set(c.spec, '{domains}', jsonb_build_array('chat' || n || '.many.test'))))).*
     from connectors c, generate_series(1, $1::int) n where c.id = $2`,
    [MAX_CONNECTORS_TO_CHAT, at(added.body, 'id')],
  )
  await plane.owner('PUT', SETTINGS, { settings: { chat_channel_id: 'C0APPROVALS' } })
  const explained = async (host: string) => {
    const query = `method=POST&url=${encodeURIComponent(`https://${host}/x`)}&agent=one`
    return String((await plane.owner('GET', `/api/dashboard/explain?${query}`)).body['text'])
  }
  // The last by name.
  await eventually('the last one is denied without its name', async () =>
    (await explained('chat99.many.test')).includes('more than 500 Connectors') ? true : null,
  )
  expect(await explained('chat1.many.test')).toContain('pol_approvals_channel_connectors')
  await plane.db.query("delete from connectors where spec->>'baseUrl' is not null")
  await plane.owner('PUT', SETTINGS, { settings: { chat_channel_id: '' } })
})

test('while the provider is away only equal tokens are refused; the rest is found later, and gets no credential', async () => {
  chat.override('auth.test', { status: 503, body: {} })
  expect((await plane.owner('POST', CONNECTORS, connector(OWN))).status).toBe(409)
  const other = { type: 'generic', domains: ['chat.three.test'] }
  for (const given of [connector('xoxb-late'), connector('Bearer xoxb-late', other)]) {
    const added = await plane.owner('POST', CONNECTORS, given)
    expect(added.status, added.text).toBe(200)
  }
  await plane.owner('POST', '/api/dashboard/permissions', {
    ...{ gateway_name: 'default/local', connector_type: 'chat', action_pattern: 'chat.*', decision: 'allow' },
  })
  const explained = async () => {
    const url = 'https://slack.com/api/chat.postMessage?channel=C0OTHER'
    const { body } = await plane.owner(
      'GET',
      `/api/dashboard/explain?method=GET&url=${encodeURIComponent(url)}&agent=one`,
    )
    return String(body['text'])
  }
  await eventually('allowed', async () => ((await explained()).includes('ALLOW') ? true : null))
  chat.recover()
  // Each process looks when it starts, and every minute.
  await using _second = await startChatPlane(database, chat)
  await eventually('withheld', async () => ((await explained()).includes('has no credential') ? true : null))
  expect(await explained()).toContain(
    'Connector "chat" has no credential to send. The token belongs to the bot that shows approvals in the chat',
  )
  const { body } = await plane.owner('GET', CONNECTORS)
  for (const place of [0, 1]) {
    expect(at<string[]>(body, 'connectors', place, 'warnings')).toEqual([
      expect.stringContaining('bot that shows approvals'),
    ])
  }
  const { rows } = await plane.db.query('select b::text as row from chat_bots b')
  expect(JSON.stringify(rows)).not.toContain('xoxb')
})
