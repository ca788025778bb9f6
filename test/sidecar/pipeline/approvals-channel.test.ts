import { describe, expect, it } from 'vitest'
import {
  approvalsChannelConnectorsPolicy,
  approvalsChannelElsewherePolicy,
  approvalsChannelPolicy,
} from '../../../core/decision/policies/approvals-channel.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { expectRefused, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'

const CHANNEL = 'C0APPROVALS'
const FORM = ['Content-Type', 'application/x-www-form-urlencoded']
const JSON_TYPE = ['Content-Type', 'application/json; charset=utf-8']

const world = (channel = CHANNEL) =>
  start({
    connectors: [{ id: 'conn_chat', name: 'chat', type: 'chat', domains: ['slack.com'] }],
    permissions: [['chat.*', 'allow']],
    policies: [
      { ...approvalsChannelPolicy(channel) },
      {
        id: 'pol_allow',
        priority: 1_000_000,
        document: { scope: { actions: ['chat.*'] }, rules: [{ name: 'all', decision: 'allow' }] },
      },
    ],
  })

const chat = (input: TestExchangeInput): TestExchangeInput => ({
  ...{ method: 'POST', host: 'slack.com' },
  ...input,
})
const form = (method: string, text: string) => chat({ target: `/api/${method}`, headers: FORM, body: text })
const json = (method: string, value: unknown) =>
  chat({ target: `/api/${method}`, headers: JSON_TYPE, body: JSON.stringify(value) })
const query = (method: string, text: string, verb = 'GET') =>
  chat({ method: verb, target: `/api/${method}?${text}` })

const DENIED: Record<string, TestExchangeInput> = {
  'a post, as a form': form('chat.postMessage', `channel=${CHANNEL}&text=x`),
  'a post, as JSON': json('chat.postMessage', { channel: CHANNEL, text: 'x' }),
  'a post, in the query': query('chat.postMessage', `channel=${CHANNEL}&text=x`),
  'a post, in the query of a POST': query('chat.postMessage', `channel=${CHANNEL}&text=x`, 'POST'),
  'a post with an escaped id': form('chat.postMessage', 'channel=C0%41PPROVALS&text=x'),
  'a post with an escaped id in JSON': chat({
    target: '/api/chat.postMessage',
    headers: JSON_TYPE,
    body: '{"channel":"C0\\u0041PPROVALS","text":"x"}',
  }),
  'a post with the channel given twice': form(
    'chat.postMessage',
    `channel=C0OTHER&channel=${CHANNEL}&text=x`,
  ),
  'a post with the channel given twice, turned round': form(
    'chat.postMessage',
    `channel=${CHANNEL}&channel=C0OTHER&text=x`,
  ),
  'a post with the channel in query and body': chat({
    target: `/api/chat.postMessage?channel=${CHANNEL}`,
    headers: FORM,
    body: 'channel=C0OTHER&text=x',
  }),
  'a post with the channel as a list': json('chat.postMessage', { channel: [CHANNEL], text: 'x' }),
  'a post with the channel as an object': json('chat.postMessage', { channel: { id: CHANNEL } }),
  'a post with the channel in brackets': form('chat.postMessage', `channel[]=${CHANNEL}&text=x`),
  'a post to the channel by name': form('chat.postMessage', 'channel=%23approvals&text=x'),
  'a post to the channel by name without a hash': json('chat.postMessage', { channel: 'approvals' }),
  'a post to a channel by another name': json('chat.postMessage', { channel: '#general' }),
  'a post with blanks around the id': json('chat.postMessage', { channel: ` ${CHANNEL} ` }),
  'a post with a hash before the id': json('chat.postMessage', { channel: `#${CHANNEL}` }),
  'a post with the id in lower case': json('chat.postMessage', { channel: CHANNEL.toLowerCase() }),
  'a post with the id as a link': json('chat.postMessage', { channel: `<#${CHANNEL}|approvals>` }),
  'a post with the id behind another': json('chat.postMessage', { channel: `C0OTHER,${CHANNEL}` }),
  'a post with a line break in the id': json('chat.postMessage', { channel: `${CHANNEL}\n` }),
  'a post with a blank before the field': form('chat.postMessage', `+channel=${CHANNEL}&text=x`),
  'a post with a blank behind an ampersand': form('chat.postMessage', `text=x& channel=${CHANNEL}`),
  'a post with a blank before the field of the query': query(
    'chat.postMessage',
    `+channel=${CHANNEL}`,
    'POST',
  ),
  'a post with brackets around the field': form('chat.postMessage', `[channel]=${CHANNEL}&text=x`),
  'a post with the field in capitals': form('chat.postMessage', `Channel=${CHANNEL}&text=x`),
  'a bookmark with a dot in the field': form('bookmarks.add', `channel.id=${CHANNEL}&title=x`),
  'a bookmark with a bracket in the field': form('bookmarks.add', `channel[id=${CHANNEL}&title=x`),
  'a post with the field in capitals in JSON': json('chat.postMessage', {
    channel: 'C0OTHER',
    Channel: CHANNEL,
  }),
  'a post with a blank before the field in JSON': json('chat.postMessage', { ' channel': CHANNEL }),
  'a post with brackets in JSON': json('chat.postMessage', { 'channel[]': CHANNEL }),
  'a group of users that joins the channel': form(
    'usergroups.create',
    `name=x&additional_channels=${CHANNEL}`,
  ),
  'a search in the channel': query('search.messages', `query=in%3A%3C%23${CHANNEL}%3E`),
  'a search beside the channel': json('assistant.search.context', {
    query: 'x',
    context_channel_id: CHANNEL,
  }),
  'a post by the name of another field': json('chat.postMessage', { channel_id: CHANNEL }),
  'an ephemeral post': form('chat.postEphemeral', `channel=${CHANNEL}&user=U1&text=x`),
  'a post of one’s own': form('chat.meMessage', `channel=${CHANNEL}&text=x`),
  'a post for later': form('chat.scheduleMessage', `channel=${CHANNEL}&text=x&post_at=1`),
  'a stream': json('chat.startStream', { channel: CHANNEL }),
  'a change of a card': json('chat.update', { channel: CHANNEL, ts: '1.2', blocks: [] }),
  'a deletion of a card': json('chat.delete', { channel: CHANNEL, ts: '1.2' }),
  'an unfurling in a card': json('chat.unfurl', { channel: CHANNEL, ts: '1.2', unfurls: {} }),
  'a read of the cards': query('conversations.history', `channel=${CHANNEL}`),
  'a read of the answers to a card': query('conversations.replies', `channel=${CHANNEL}&ts=1.2`),
  'a read of the channel': query('conversations.info', `channel=${CHANNEL}`),
  'an invitation': form('conversations.invite', `channel=${CHANNEL}&users=U1`),
  joining: form('conversations.join', `channel=${CHANNEL}`),
  renaming: form('conversations.rename', `channel=${CHANNEL}&name=x`),
  archiving: form('conversations.archive', `channel=${CHANNEL}`),
  'a topic': form('conversations.setTopic', `channel=${CHANNEL}&topic=x`),
  'kicking somebody out': form('conversations.kick', `channel=${CHANNEL}&user=U1`),
  'a file': form('files.upload', `channels=C0OTHER,${CHANNEL}&filename=x`),
  'a file, last step': json('files.completeUploadExternal', { files: [{ id: 'F1' }], channel_id: CHANNEL }),
  'a file, last step, by the other field': json('files.completeUploadExternal', {
    ...{ files: [{ id: 'F1' }], channels: `C0OTHER,${CHANNEL}` },
  }),
  'the files of the channel': query('files.list', `channel=${CHANNEL}`),
  'a reaction': form('reactions.add', `channel=${CHANNEL}&timestamp=1.2&name=x`),
  'a pin': form('pins.add', `channel=${CHANNEL}&timestamp=1.2`),
  'a bookmark': form('bookmarks.add', `channel_id=${CHANNEL}&title=x`),
  'an invitation by an administrator': json('admin.users.invite', {
    ...{ email: 'x@example.com', team_id: 'T1', channel_ids: ['C0OTHER', CHANNEL] },
  }),
  'a list of channels in JSON, in a form': form(
    'canvases.access.set',
    `canvas_id=F1&access_level=read&channel_ids=%5B%22C0OTHER%22%2C%22${CHANNEL}%22%5D`,
  ),
  'the channel alone in such a list': form(
    'canvases.access.set',
    `canvas_id=F1&channel_ids=%5B%22${CHANNEL}%22%5D`,
  ),
  'an escape in such a list': form(
    'canvases.access.set',
    'canvas_id=F1&channel_ids=%5B%22C0%5Cu0041PPROVALS%22%5D',
  ),
  'a name in such a list': form(
    'canvases.access.set',
    'canvas_id=F1&channel_ids=%5B%22C0OTHER%22%2C%22approvals%22%5D',
  ),
  'a list in such a list': form(
    'canvases.access.set',
    `canvas_id=F1&channel_ids=%5B%5B%22${CHANNEL}%22%5D%5D`,
  ),
  'an object in such a list': form(
    'canvases.access.set',
    `canvas_id=F1&channel_ids=%5B%7B%22id%22%3A%22${CHANNEL}%22%7D%5D`,
  ),
  'a method that nobody knows': form('chat.somethingNew', `channel=${CHANNEL}`),
  'a method that nobody knows, without a channel': query('chat.somethingNew', ''),
}

const PASSED: Record<string, TestExchangeInput> = {
  'a post elsewhere': form('chat.postMessage', 'channel=C0OTHER&text=x'),
  'a post elsewhere, as JSON': json('chat.postMessage', { channel: 'C0OTHER', text: 'x' }),
  'a post to a person': json('chat.postMessage', { channel: 'U0PERSON', text: 'x' }),
  'a post that mentions the channel': json('chat.postMessage', { channel: 'C0OTHER', text: `<#${CHANNEL}>` }),
  'a channel whose id begins alike': json('chat.postMessage', { channel: `${CHANNEL}2`, text: 'x' }),
  'a file in several channels': form('files.upload', 'channels=C0OTHER, C0THIRD&filename=x'),
  'a list of channels in JSON, in a form': form(
    'canvases.access.set',
    'canvas_id=F1&access_level=read&channel_ids=%5B%22C0OTHER%22%2C%22C0THIRD%22%5D',
  ),
  'an invitation to several channels': json('admin.users.invite', {
    ...{ email: 'x@example.com', team_id: 'T1', channel_ids: ['C0OTHER', 'C0THIRD'] },
  }),
  'a search everywhere': query('search.messages', 'query=refund'),
  'a list of all channels': query('conversations.list', 'limit=10'),
  'a test of the token': chat({ target: '/api/auth.test' }),
}

describe('the channel of the approvals is no target for agents', () => {
  it.each(Object.entries(DENIED))('%s is refused, and the upstream sees nothing', async (_name, input) => {
    const here = await world()
    const { reply } = await here.send(input)
    expect([400, 403]).toContain(reply.status)
    expectRefused(here)
    const [record] = here.records
    if (reply.status === 403) {
      expect(record).toMatchObject({ decision: 'DENY', reason: 'policy' })
      expect(record?.policies[0]).toBe('pol_approvals_channel@1')
    }
  })

  it.each(Object.entries(PASSED))('%s passes', async (_name, input) => {
    const here = await world()
    const { reply } = await here.send(input)
    expect(reply.status, reply.text()).toBe(200)
    expect(here.upstream.seen).toHaveLength(1)
  })

  it('leaves an organisation as many policies of its own as it may have', async () => {
    const document = { rules: [{ name: 'all', decision: 'allow' }] }
    const builtIn = [
      approvalsChannelPolicy(CHANNEL),
      approvalsChannelElsewherePolicy(CHANNEL),
      approvalsChannelConnectorsPolicy(CHANNEL, ['a']),
    ]
    const own = Array.from({ length: LIMITS.maxPolicies }, (_, n) => ({ id: `pol_own_${n}`, document }))
    const here = await start({
      permissions: [['chat.*', 'allow']],
      policies: [...builtIn, ...own],
    })
    expect(here.state.snapshot).not.toBeNull()
    const more = [...builtIn, ...own, { id: 'pol_one_more', document }]
    expect(() => here.apply({ policies: more })).toThrow('more than')
  })

  it('says why, and what to do about a name', async () => {
    const here = await world()
    const named = await here.send(json('chat.postMessage', { channel: '#general', text: 'x' }))
    expect(named.reply.text()).toContain('The channel must be given by its id')
    const reserved = await here.send(json('chat.postMessage', { channel: CHANNEL, text: 'x' }))
    expect(reserved.reply.text()).toContain('no access to the channel in which approvals are answered')
  })

  it('refuses every channel while the setting is not an id', async () => {
    for (const setting of ['#approvals', 'approvals', 'D0DIRECT', '']) {
      const here = await world(setting)
      const { reply } = await here.send(json('chat.postMessage', { channel: 'C0OTHER', text: 'x' }))
      expect(reply.status).toBe(403)
      expect(reply.text()).toContain('chat_channel_id')
      expectRefused(here)
    }
  })
})
