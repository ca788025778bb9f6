import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Everything, startEverything } from '../support/every-connector.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { sendRaw } from '../support/raw-http.ts'
import { connectHead, openSocket } from '../support/tunnel.ts'

let everything: Everything
let laptop: Laptop
let agent: TestAgent

beforeAll(async () => {
  everything = await startEverything()
  laptop = await startLaptop({ database: 'worker', manifests: { 'everything.yaml': everything.manifests } })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await everything?.recorder.close()
})

test.each([
  ['Connection names an end-to-end field', '/user', 'Connection: Authorization\r\n'],
  ['a header would replace the method', '/user', 'X-HTTP-Method-Override: DELETE\r\n'],
  ['an underscore shadows an override', '/user', 'X_HTTP_Method_Override: DELETE\r\n'],
  ['the path holds dot segments', '/repos/../user', ''],
  ['the target holds a fragment', '/user#x', ''],
])('%s: 400 says that the connection ends, and it does', async (_what, target, header) => {
  const socket = await agent.tunnel('api.github.com')
  let isEnded = false
  socket.on('end', () => {
    isEnded = true
  })
  const answer = await sendRaw(socket, `GET ${target} HTTP/1.1\r\nHost: api.github.com\r\n${header}\r\n`)
  expect(answer.status).toBe(400)
  expect(answer.headers.get('connection')).toBe('close')
  await eventually('the end of the connection', () => (isEnded ? true : null))
  socket.destroy()
})

test('CONNECT whose Host header names another host is refused', async () => {
  const socket = await openSocket(agent.target.port)
  const answer = await sendRaw(socket, connectHead(agent.target, 'api.github.com:443', 'api.stripe.com:443'))
  expect(answer.status).toBe(421)
  socket.destroy()
})
