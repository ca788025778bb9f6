import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Recorder, replyJson, startRecorder } from '../../support/recorder.ts'
import { at } from '../routes/start.ts'
import { ALLOWED, RISKY, startWorld, type World } from './world.ts'

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
  world.sql<{ clear: string | null; sealed: { key_id: string } | null; text: string }>(
    `select webhook_url as clear, webhook_sealed as sealed, row_to_json(a)::text as text
     from action_requests a where id = $1`,
    [id],
  )

test('a webhook_url rests sealed, with the id of its key, bound to its action', async () => {
  const agent = await world.agent()
  const url = `${receiver.url}/secret-path-of-the-receiver`
  const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED, webhook_url: url })
  const id = at(body, 'action_request_id')
  const [row] = await rows(id)
  expect(row?.clear).toBeNull()
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

test('what an older version left in clear is sealed at the start, and its action still tells its receiver', async () => {
  const agent = await world.agent()
  const made = await agent.call('POST', '/api/v1/actions', { action_spec: RISKY })
  const id = at(made.body, 'action_request_id')
  const url = `${receiver.url}/left-in-clear`
  await world.sql('update action_requests set webhook_url = $2 where id = $1', [id, url])
  const many = `insert into action_requests (id, org_id, agent_id, agent, status, action_spec, decision, connector, webhook_url)
    select 'act_old_' || n, (select id from orgs), 'a', 'a', 'denied', '{}', '{}', 'codehost', 'https://h.test/' || n
    from generate_series(1, 1200) n`
  await world.sql(many)
  await Promise.all([world.replica(), world.replica()])
  await eventually('everything is sealed', async () => {
    const [left] = await world.sql('select 1 from action_requests where webhook_url is not null limit 1')
    return left === undefined ? true : null
  })
  const sealed = await world.sql('select 1 from action_requests where webhook_sealed is not null')
  expect(sealed.length).toBeGreaterThanOrEqual(1_201)
  const yes = await world.admin('POST', `/api/v1/approvals/${at(made.body, 'approval', 'id')}/respond`, {
    decision: 'approve',
  })
  expect(yes.status).toBe(200)
  await eventually('the notification', async () =>
    receiver.seen.some(({ target }) => target === '/left-in-clear') ? true : null,
  )
})
