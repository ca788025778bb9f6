import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Recorder, replyJson, startRecorder } from '../../support/recorder.ts'
import { at } from '../routes/start.ts'
import { ALLOWED, startWorld, type World } from './world.ts'

let world: World
let receiver: Recorder
beforeAll(async () => {
  world = await startWorld({ NOTIFY_ALLOW_CIDRS: '127.0.0.0/8' })
  receiver = await startRecorder({ answer: replyJson({}) })
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await receiver?.close()
})

const rows = (id: string) =>
  world.sql<{ sealed: { key_id: string } | null; text: string }>(
    `select webhook as sealed, row_to_json(a)::text as text
     from action_requests a where id = $1`,
    [id],
  )

test('a webhook_url rests sealed, with the id of its key, bound to its action', async () => {
  const agent = await world.agent()
  const url = `${receiver.url}/secret-path-of-the-receiver`
  const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED, webhook_url: url })
  const id = at(body, 'action_request_id')
  const [row] = await rows(id)
  expect(row?.sealed).toEqual({
    key_id: expect.stringMatching(/./),
    nonce: expect.any(String),
    ciphertext: expect.any(String),
  })
  expect(row?.text).not.toContain('secret-path')
  await eventually('the notification', async () =>
    receiver.seen.some(({ target }) => target === '/secret-path-of-the-receiver') ? true : null,
  )
})
