import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { createServer, getCACertificates, type Server, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { replyJson } from '../../support/recorder.ts'
import { createTestCa, type TestCa } from '../../support/test-ca.ts'
import { at } from '../routes/start.ts'
import { type ExecutionWorld, startExecutionWorld } from './execution-world.ts'
import type { TestAgent } from './world.ts'

let here: ExecutionWorld
let agent: TestAgent
const ca = createTestCa()
const fronts: Front[] = []

/** Speaks TLS in front of the gateway, and counts what came through in clear. */
type Front = { readonly url: string; readonly server: Server; bytes: number }

beforeAll(async () => {
  here = await startExecutionWorld()
  agent = await here.world.agent()
  await here.applied()
  here.upstream.answerWith(replyJson({ number: 41 }, 201))
  here.gateway.cut()
  await eventually('the gateway is not connected', async () => {
    const { body } = await here.world.admin('GET', '/api/dashboard/gateway')
    return at(body, 'gateways', 0, 'live') === null ? true : null
  })
})
afterAll(() => here?.[Symbol.asyncDispose]())
const trusted = getCACertificates('default')
afterEach(() => {
  setDefaultCACertificates(trusted)
  for (const { server } of fronts.splice(0)) server.close()
})

async function front(issuer: TestCa, name: string): Promise<Front> {
  const server = createServer(issuer.issue(name), (socket) => {
    const inner = connect(Number(new URL(here.gateway.url).port), '127.0.0.1')
    socket.on('data', (chunk: Buffer) => {
      made.bytes += chunk.length
    })
    socket.pipe(inner).pipe(socket)
    for (const one of [socket, inner]) one.on('error', () => one.destroy())
  })
  server.on('tlsClientError', () => undefined)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const made: Front = { server, bytes: 0, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` }
  fronts.push(made)
  return made
}

async function executeAt(url: string) {
  await here.world.admin('PUT', '/api/dashboard/settings', { settings: { gateway_url: url } })
  const action = await here.submit(agent, {
    type: 'codehost.issue.create',
    resource: { target: 'acme/site' },
    parameters: { title: 'x' },
  })
  return { action, answer: await here.execute(agent, action) }
}

describe('a gateway_url over TLS', () => {
  test('with a certificate of a CA that the control plane trusts carries the action out', async () => {
    // What NODE_EXTRA_CA_CERTS does at the start of a process.
    setDefaultCACertificates([...trusted, ca.cert])
    const { url } = await front(ca, '127.0.0.1')
    const before = here.upstream.seen.length
    const { answer } = await executeAt(url)
    expect(answer.body, answer.text).toMatchObject({ executed: true, gateway_response: { status: 201 } })
    expect(here.upstream.seen.length).toBe(before + 1)
  })

  test.each([
    ['of an unknown CA', () => front(createTestCa(), '127.0.0.1')],
    ['for another host', () => front(ca, 'gateway.example')],
  ])('with a certificate %s gets not a byte: 503, and the token stays good', async (_what, make) => {
    setDefaultCACertificates([...trusted, ca.cert])
    const made = await make()
    const before = here.upstream.seen.length
    const { action, answer } = await executeAt(made.url)
    expect([answer.status, answer.body['error']]).toEqual([503, 'No gateway available'])
    expect(answer.body['message']).toMatch(/certificate that is not trusted \(\w+; set NODE_EXTRA_CA_CERTS/)
    expect(made.bytes).toBe(0)
    expect(here.upstream.seen.length).toBe(before)
    const { body } = await agent.call('GET', `/api/v1/actions/${action.id}`)
    expect(body).toMatchObject({ status: 'allowed', decision_token: action.token })
    const good = await front(ca, '127.0.0.1')
    await here.world.admin('PUT', '/api/dashboard/settings', { settings: { gateway_url: good.url } })
    expect((await here.execute(agent, action)).status).toBe(200)
  })
})
