import { afterAll, beforeAll, expect, test } from 'vitest'
import WebSocket from 'ws'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import type { Answer } from '../support/recorder.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

let vendors: Vendors
let laptop: Laptop
let agent: TestAgent

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'vendors.yaml': vendors.manifests, 'work.yaml': BACKGROUND_WORK },
  })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

/** Permits responses that go on after their answer. */
const BACKGROUND_WORK = `apiVersion: chaperone.dev/v1alpha1
kind: Permission
metadata: { name: work }
spec:
  gatewayRefs: [{ name: local }]
  rules:
    - { connectorType: llm_a, actionPattern: 'llm_a.response.*', decision: allow }
    - { connectorType: llm_a, actionPattern: 'llm_a.hosted_agent.run', decision: allow }
`

const CHAT = { method: 'POST', host: 'api.openai.com', target: '/v1/chat/completions' } as const
const JSON_TYPE = [['Content-Type', 'application/json']] as const

/** An endless stream of events. */
const forever: Answer = (request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const timer = setInterval(() => response.write('data: tick\n\n'), 20)
  response.on('close', () => clearInterval(timer))
}

/** Wrapped in an object, because a promise inside a promise would be waited for. */
type Open = { readonly closed: Promise<void> }

async function openStream(): Promise<Open> {
  const socket = await agent.tunnel(CHAT.host)
  const body = '{"stream":true}'
  socket.write(
    `POST ${CHAT.target} HTTP/1.1\r\nHost: ${CHAT.host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await new Promise<void>((resolve) => socket.once('data', () => resolve()))
  socket.resume()
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve()).on('error', () => undefined)
  })
  return { closed }
}

async function openWebSocket(): Promise<Open> {
  const socket = await agent.tunnel(CHAT.host)
  const client = new WebSocket('wss://api.openai.com/v1/realtime', { createConnection: () => socket })
  await new Promise<void>((resolve, reject) => client.once('open', () => resolve()).once('error', reject))
  client.on('error', () => undefined)
  return { closed: new Promise<void>((resolve) => client.once('close', () => resolve())) }
}

test('activation ends 50 streams, 10 WebSockets and 10 holds, and nothing more reaches the upstream', async () => {
  vendors.recorder.answerWith(forever)
  const streams = await Promise.all(Array.from({ length: 50 }, openStream))
  for (const stream of streams) expect(await Promise.race([stream.closed, 'open'])).toBe('open')
  const sockets = await Promise.all(Array.from({ length: 10 }, openWebSocket))
  const holds = Array.from({ length: 10 }, (_, i) =>
    agent.json({
      method: 'PUT',
      host: 'api.github.com',
      target: `/repos/acme/site/pulls/${i}/merge`,
      headers: JSON_TYPE,
      body: '{}',
    }),
  )
  await eventually('ten pending approvals', async () => {
    const { body } = await laptop.api('GET', '/api/dashboard/proxy-approvals?status=pending')
    return (body['approvals'] as unknown[]).length === 10 ? true : null
  })
  const seen = vendors.recorder.seen.length

  const stopping = laptop.api('POST', '/api/dashboard/kill-switch', { active: true, reason: 'drill' })
  await Promise.all([...streams, ...sockets].map((open) => open.closed))
  const answers = await Promise.all(holds)
  expect(await stopping).toMatchObject({ status: 200, body: { acknowledged: { acked: 1, total: 1 } } })
  const again = await laptop.cli(['kill', 'on', '--reason', 'drill'])
  expect(again.stdout).toMatch(/Kill switch active: 1 of 1 gateway acknowledged in \d+ ms/)
  for (const answer of answers) {
    expect(answer.status).toBe(403)
    expect(String(answer.body['error'])).toMatch(/^Kill switch active: drill/)
  }
  const denied = await agent.json({ ...CHAT, headers: JSON_TYPE, body: '{}' })
  expect(denied.status).toBe(403)
  expect(String(denied.body['error'])).toMatch(/^Kill switch active: drill/)
  expect(vendors.recorder.seen.length).toBe(seen)
  await eventually('the upstream side closed', () => (vendors.recorder.openConnections === 0 ? true : null))

  await laptop.cli(['kill', 'off'])
  vendors.recorder.answerWith((request, response) => {
    request.resume()
    response.end('{}')
  })
  const released = await eventually('the first allowed call', async () => {
    const answer = await agent.send({ ...CHAT, headers: JSON_TYPE, body: '{}' })
    return answer.status === 200 ? answer : null
  })
  expect(released.status).toBe(200)
})

test('a scope stops one connector and leaves the others alone', async () => {
  await laptop.cli(['kill', 'on', '--scope', 'connector:llm_a', '--reason', 'cost'])
  const denied = await agent.json({ ...CHAT, headers: JSON_TYPE, body: '{}' })
  expect(denied.status).toBe(403)
  const other = await agent.send({
    method: 'POST',
    host: 'slack.com',
    target: '/api/chat.postMessage',
    headers: JSON_TYPE,
    body: '{"channel":"C1","text":"x"}',
  })
  expect(other.status).toBe(200)
  await laptop.cli(['kill', 'off', '--scope', 'connector:llm_a'])
})

const RESPONSES = { method: 'POST', host: 'api.openai.com', target: '/v1/responses' } as const

test('a kill switch cancels what an agent started at a provider, and its answer and state list it', async () => {
  const released = Promise.withResolvers<void>()
  vendors.recorder.answerWith(async (request, response) => {
    request.resume()
    // The provider takes its time: the answer of the kill switch does not wait for it.
    if (request.url?.endsWith('/cancel') === true) await released.promise
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"id":"resp_77","status":"queued"}')
  })
  const started = await agent.json({
    ...RESPONSES,
    headers: JSON_TYPE,
    body: '{"model":"m","input":"x","background":true}',
  })
  expect(started.body).toMatchObject({ id: 'resp_77' })
  const stopped = await laptop.api('POST', '/api/dashboard/kill-switch', {
    active: true,
    scope: 'connector:llm_a',
  })
  expect(stopped.body['hosted_work']).toMatchObject({ pending: 1, cancelled: [], not_cancelled: [] })
  released.resolve()
  const state = await eventually('the response is cancelled', async () => {
    const { body } = await laptop.api('GET', '/api/dashboard/kill-switch')
    const work = body['hosted_work'] as { pending: number; cancelled: unknown[]; note: string }
    return work.pending === 0 && work.cancelled.length === 1 ? work : null
  })
  expect(state.cancelled).toMatchObject([
    { kind: 'response', id: 'resp_77', outcome: 'cancelled', scope: 'connector:llm_a' },
  ])
  expect(state.note).toContain('work from before the last start of each gateway')
  const record = await eventually('the record arrives', async () => {
    const { body } = await laptop.api('GET', '/api/dashboard/traffic?action_type=llm_a.response.cancel')
    return (body['traffic'] as Record<string, unknown>[])[0] ?? null
  })
  expect(record).toMatchObject({
    action_type: 'llm_a.response.cancel',
    decision: 'ALLOW',
    note: 'system',
    status: 200,
  })
  await laptop.api('POST', '/api/dashboard/kill-switch', { active: false, scope: 'connector:llm_a' })
})

test('the kill switch remains after a crash of control plane and gateway', async () => {
  await laptop.cli(['kill', 'on', '--reason', 'overnight'])
  await Promise.all([laptop.crash('controlplane/main'), laptop.crash('sidecar/main')])
  const before = vendors.recorder.seen.length
  const answer = await eventually('the gateway answers', async () =>
    agent.json({ ...CHAT, headers: JSON_TYPE, body: '{}' }).catch(() => null),
  )
  expect([403, 503]).toContain(answer.status)
  const denied = await eventually('the refusal by the kill switch', async () => {
    const again = await agent.json({ ...CHAT, headers: JSON_TYPE, body: '{}' }).catch(() => null)
    if (again?.status === 200) throw new Error('a request passed while everything is stopped')
    return again?.status === 403 ? again : null
  })
  expect(String(denied.body['error'])).toMatch(/^Kill switch active: overnight/)
  expect(vendors.recorder.seen.length).toBe(before)
  await laptop.cli(['kill', 'off'])
})
