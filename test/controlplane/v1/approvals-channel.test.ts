import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at } from '../routes/start.ts'
import { startWorld, type TestAgent, type World } from './world.ts'

const SETTINGS = '/api/dashboard/settings'
const CHANNEL = 'C0APPROVALS'

let world: World
let agent: TestAgent

beforeAll(async () => {
  world = await startWorld()
  agent = await world.agent()
  const policyYaml = 'scope: { actions: ["chat.*"] }\nrules: [{ name: all, decision: allow }]\n'
  await world.admin('POST', '/api/dashboard/policies', { name: 'all', policyYaml, priority: 1_000_000 })
})
afterAll(() => world?.[Symbol.asyncDispose]())

const put = (chat_channel_id: string) => world.admin('PUT', SETTINGS, { settings: { chat_channel_id } })
const submit = async (type: string, given: { target?: string; parameters?: object }) => {
  const { target, parameters = {} } = given
  const resource = { provider: 'chat', ...(target === undefined ? {} : { target }) }
  const answer = await agent.call('POST', '/api/v1/actions', { action_spec: { type, resource, parameters } })
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

test('without a channel for approvals nothing is kept from agents', async () => {
  const given = { parameters: { channel: '#approvals', text: 'x' } }
  expect((await submit('chat.message.post', given))['status']).toBe('allowed')
})

describe('once the channel of the approvals is set', () => {
  beforeAll(async () => {
    expect((await put(CHANNEL)).status).toBe(200)
  })

  test.each([
    ['by the parameter', 'chat.message.post', { parameters: { channel: CHANNEL, text: 'x' } }],
    ['by the target', 'chat.message.post', { target: CHANNEL, parameters: { text: 'x' } }],
    ['by its name', 'chat.message.post', { parameters: { channel: '#approvals', text: 'x' } }],
    ['in a list', 'chat.file.upload', { parameters: { channels: `C0OTHER,${CHANNEL}` } }],
    ['to change a card', 'chat.message.update', { parameters: { channel: CHANNEL, ts: '1.2' } }],
    ['to read the cards', 'chat.message.list', { parameters: { channel: CHANNEL } }],
    ['by a number', 'chat.message.post', { parameters: { channel: 7 } }],
  ])('an action of the API that names it %s is denied', async (_name, type, given) => {
    const body = await submit(type, given)
    expect(body['status']).toBe('denied')
    expect(at(body, 'decision', 'matched_policies', 0)).toBe('pol_approvals_channel')
    expect(body['decision_token'] ?? null).toBeNull()
    const chain = await world.chain(String(body['action_request_id'] ?? body['id']))
    expect(chain).toEqual(['action.requested', 'action.denied'])
  })

  test('an action elsewhere is decided as before', async () => {
    const given = { parameters: { channel: 'C0OTHER', text: 'x' } }
    expect((await submit('chat.message.post', given))['status']).toBe('allowed')
  })

  test.each(['#approvals', 'approvals', 'D0DIRECT', 'c0approvals', ' C0APPROVALS', 'C', 'C0-1'])(
    'the setting takes no %s, and says what it takes',
    async (value) => {
      const refused = await put(value)
      expect([refused.status, refused.body['details']]).toEqual([
        400,
        expect.stringContaining('settings.chat_channel_id: is not the id of a channel'),
      ])
      const { body } = await world.admin('GET', SETTINGS)
      expect(at(body, 'settings', 'chat_channel_id')).toBe(CHANNEL)
    },
  )

  test('a name that was stored earlier keeps every channel from agents, and may be written back', async () => {
    await world.sql("update settings set value = '\"#approvals\"' where key = 'chat_channel_id'")
    expect((await put('#approvals')).status).toBe(200)
    const body = await submit('chat.message.post', { parameters: { channel: 'C0OTHER', text: 'x' } })
    expect([body['status'], at(body, 'decision', 'reason')]).toEqual([
      'denied',
      expect.stringContaining('chat_channel_id'),
    ])
    expect((await put('')).status).toBe(200)
    const after = await submit('chat.message.post', { parameters: { channel: 'C0OTHER', text: 'x' } })
    expect(after['status']).toBe('allowed')
  })
})
