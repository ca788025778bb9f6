import { connect, type Socket } from 'node:net'
import tls from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { portAgent, type TestAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Everything, HOSTS, startEverything } from '../support/every-connector.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { openSocket } from '../support/tunnel.ts'

const [HOST] = HOSTS.codehost
let everything: Everything
let laptop: Laptop
let agent: TestAgent

beforeAll(async () => {
  everything = await startEverything()
  laptop = await startLaptop({ database: 'worker', manifests: { 'everything.yaml': everything.manifests } })
  agent = await portAgent(laptop, 'flooder')
})
afterAll(async () => {
  await laptop?.stop()
  await everything?.recorder.close()
})

/** Gone after each test, however it ended: what stays open would be the next one's flood. */
let sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets) socket.destroy()
  sockets = []
})

async function openMany(count: number, first: string): Promise<void> {
  for (let at = 0; at < count; at += 100) {
    const batch = await Promise.all(Array.from({ length: 100 }, () => openSocket(agent.target.port)))
    for (const socket of batch) {
      socket.on('error', () => socket.destroy())
      socket.resume()
      if (first !== '') socket.write(first)
    }
    sockets.push(...batch)
  }
}

async function status(): Promise<number> {
  const answer = await agent.send({ method: 'GET', host: HOST, target: '/user' }).catch(() => null)
  return answer?.status ?? 0
}

const CONNECT = `CONNECT ${HOST}:443 HTTP/1.1\r\nHost: ${HOST}:443\r\n\r\n`

function withKey(head: string): string {
  return `${head.slice(0, -2)}Proxy-Authorization: ${agent.target.proxyAuthorization}\r\n\r\n`
}

test.each([
  ['silent connections', ''],
  ['heads that never end', `GET https://${HOST}/user HTTP/1.1\r\nHost: ${HOST}\r\nX: `],
  ['handshakes that never end', '\x16\x03\x01\x02\x00\x01\x00'],
  ['tunnels that nobody uses', CONNECT],
  [
    'bodies that never come',
    `POST https://${HOST}/repos/o/r/issues HTTP/1.1\r\nHost: ${HOST}\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n`,
  ],
])(
  '900 %s do not keep anybody else from being served',
  async (_what, first) => {
    await openMany(900, first)
    expect(await status()).toBeGreaterThan(0)
    // Not because the gateway has closed the others, as it does after a time.
    expect(sockets.some(({ destroyed }) => !destroyed)).toBe(true)
    for (const socket of sockets) socket.destroy()
    await eventually('the gateway serves as before', async () => ((await status()) === 200 ? true : null))
  },
  60_000,
)

test('1,000 idle tunnels of one agent do not affect other agents, and the refusal names the limit', async () => {
  const other = await portAgent(laptop, 'neighbour')
  const answers: string[] = []
  for (let at = 0; at < 1_000; at++) {
    const socket = await openSocket(agent.target.port)
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => {
      answers[at] = (answers[at] ?? '') + chunk.toString()
    })
    socket.write(withKey(CONNECT))
    sockets.push(socket)
  }
  await eventually('every tunnel is answered', () => Object.keys(answers).length === 1_000 || null)
  const refused = answers.filter((answer) => !answer.startsWith('HTTP/1.1 200 '))
  expect(refused).toHaveLength(600)
  for (const answer of refused) {
    expect(answer).toMatch(/^HTTP\/1\.1 503 /)
    expect(answer).toMatch(/retry-after: \d/i)
    expect(answer).toContain('MAX_CONNECTIONS_PER_AGENT')
  }
  const served = await other.send({ method: 'GET', host: HOST, target: '/user' })
  expect(served.status).toBe(200)
  expect((await fetch(`${laptop.ready.gateway_url}/health`)).status).toBe(200)
  const metrics = await (await fetch(`${laptop.ready.gateway_url}/metrics`)).text()
  const counted =
    /svc_connections_refused_total\{agent="flooder",limit="MAX_CONNECTIONS_PER_AGENT"\} (\d+)/.exec(metrics)
  expect(Number(counted?.[1])).toBe(600)
  for (const socket of sockets) socket.destroy()
  await eventually('the gateway serves again', async () => ((await status()) === 200 ? true : null))
})

test('400 connections of one agent that send requests without a pause leave the others theirs', async () => {
  const greedy = await portAgent(laptop, 'greedy')
  const honest = await portAgent(laptop, 'honest')
  const key = `Proxy-Authorization: ${greedy.target.proxyAuthorization}\r\n`
  const ask = `GET https://${HOST}/user HTTP/1.1\r\nHost: ${HOST}\r\n${key}\r\n`
  let answered = 0
  for (let at = 0; at < 400; at++) {
    const socket = await openSocket(greedy.target.port)
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => {
      if (!chunk.toString('latin1').includes('HTTP/1.1 ')) return
      answered++
      socket.write(ask)
    })
    socket.write(ask)
    sockets.push(socket)
  }
  await eventually('the flood runs', () => answered > 2_000 || null)
  for (let at = 0; at < 10; at++) {
    expect((await honest.send({ method: 'GET', host: HOST, target: '/user' })).status).toBe(200)
  }
  const before = answered
  await eventually('the flood still runs', () => answered > before || null)
  expect((await fetch(`${laptop.ready.gateway_url}/health`)).status).toBe(200)
}, 120_000)

test('2,300 connections of one agent to the control plane leave users, agents and gateways theirs', async () => {
  const keyOf = async (name: string): Promise<string> => {
    const made = await laptop.api('POST', '/api/dashboard/agents', {
      ...{ name, runtime: 'test', environment: 'test' },
    })
    return String(made.body['api_key'])
  }
  const [greedy, honest] = [await keyOf('greedy-v1'), await keyOf('honest-v1')]
  const { hostname, port, host } = new URL(laptop.ready.base_url)
  const head = (key: string) =>
    `GET /api/v1/policies HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${key}\r\n\r\n`
  const [settled, closed] = [new Set<Socket>(), new Set<Socket>()]
  for (let at = 0; at < 2_300; at++) {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => socket.destroy())
    socket.once('data', () => settled.add(socket))
    socket.once('close', () => {
      settled.add(socket)
      closed.add(socket)
    })
    socket.write(head(greedy))
    sockets.push(socket)
  }
  await eventually('the flood is answered or closed', () => settled.size === 2_300 || null)
  // 60 requests a minute authenticate; the connections of all others count as unauthenticated.
  await eventually('the oldest connections beyond 2,000 are closed', () => closed.size >= 240 || null)
  const answer = await fetch(`${laptop.ready.base_url}/api/v1/policies`, {
    headers: { authorization: `Bearer ${honest}` },
  })
  expect(answer.status).toBe(200)
  expect((await fetch(`${laptop.ready.base_url}/livez`)).status).toBe(200)
  const stop = await laptop.api('POST', '/api/dashboard/kill-switch', {
    active: true,
    reason: 'flood',
    scope: 'agent:greedy-v1',
  })
  expect(stop.status).toBe(200)
  expect(await status()).toBe(200)
})

test('1,000 calls of the internal API without a token, each with a body, are refused before the body', async () => {
  const port = Number(new URL(laptop.ready.gateway_url).port)
  const head =
    'POST /internal/kill-switch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{'
  let refusals = 0
  for (let at = 0; at < 1_000; at++) {
    const socket = await openSocket(port)
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => {
      if (chunk.toString().startsWith('HTTP/1.1 401 ')) refusals++
    })
    socket.write(head)
    sockets.push(socket)
  }
  await eventually('all are refused', () => refusals === 1_000 || null)
  expect(await status()).toBe(200)
  expect((await fetch(`${laptop.ready.gateway_url}/health`)).status).toBe(200)
})

test('a name in the handshake that the tunnel is not for is 421, whatever the Host header says', async () => {
  for (const host of [HOST, 'api.stripe.com']) {
    const raw = await openSocket(agent.target.port)
    const before = everything.recorder.seen.length
    raw.write(withKey(CONNECT))
    await new Promise((resolve) => raw.once('data', resolve))
    const secure = tls.connect({ socket: raw, servername: 'api.stripe.com', ca: agent.target.ca ?? '' })
    await new Promise<void>((resolve, reject) => secure.once('secureConnect', resolve).once('error', reject))
    secure.write(`GET /v1/charges HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    const answer = await new Promise<Buffer>((resolve) => secure.once('data', resolve))
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 421 /)
    expect(everything.recorder.seen.length).toBe(before)
    secure.destroy()
  }
})

test.each([
  ['no port', HOST, 400],
  ['port 0', `${HOST}:0`, 400],
  ['a port beyond the last', `${HOST}:65536`, 400],
  ['another port of a governed host', `${HOST}:22`, 403],
  ['user information', `u:p@${HOST}:443`, 400],
  ['a path', `${HOST}:443/user`, 400],
  ['a URL', `https://${HOST}:443`, 400],
  ['an empty host', ':443', 400],
  ['loopback', '127.0.0.1:443', 403],
  ['IPv6 loopback', '[::1]:443', 403],
  ['the gateway itself', 'localhost:9443', 403],
  ['the metadata service', '169.254.169.254:80', 403],
  ['two trailing dots', `${HOST}..:443`, 400],
])('CONNECT to %s', async (_what, authority, wanted) => {
  const socket = await openSocket(agent.target.port)
  socket.write(withKey(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`))
  const answer = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
  expect(Number(answer.toString().split(' ')[1])).toBe(wanted)
  socket.destroy()
})
