import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { ProxyAgent, request } from 'undici'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { createAdmit } from '../../../sidecar/pipeline/admit.ts'
import type { Answer } from '../../support/recorder.ts'
import { startFront, type TestFront } from '../listener/harness.ts'
import { type Rules, startWorld, type World } from './test-world.ts'

const MCP_HOST = 'tools.example'
const KEY = 'svc_test_abc'
const TOKEN = `Basic ${Buffer.from(`builder:${KEY}`).toString('base64')}`

export type McpAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}
export type McpProtocol = 'h1' | 'h2'

/** A real gateway's front and pipeline before an MCP server that the test scripts. */
export type McpWorld = AsyncDisposable & {
  readonly world: World
  readonly front: TestFront
  /** Sends one message, or whatever it is given, as an agent's client does. */
  post(message: unknown, options?: PostOptions): Promise<McpAnswer>
  /** TLS to the gateway in the name of the MCP server. */
  tunnel(alpn: 'http/1.1' | 'h2'): Promise<TLSSocket>
}

export type PostOptions = {
  readonly over?: McpProtocol
  readonly headers?: Readonly<Record<string, string>>
  /** POST when absent. */
  readonly method?: 'PUT' | 'PATCH' | 'DELETE'
}

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

export async function startMcpWorld(rules: Rules, answer: Answer): Promise<McpWorld> {
  const connector = { type: 'mcp', name: 'tools', domains: [MCP_HOST] } satisfies Partial<ConnectorEntry>
  const { connectors = [{}], ...rest } = rules
  const agents = [{ key_sha256: createHash('sha256').update(KEY).digest('hex') }]
  const world = await startWorld(
    {
      agents,
      connectors: connectors.map((over) => ({ ...connector, auth: { type: 'bearer' }, ...over })),
      ...rest,
    },
    { answer },
  )
  const front = await startFront({ handle: world.run, admit: createAdmit(world.ports) })
  const agent = new ProxyAgent({
    uri: `http://127.0.0.1:${front.port}`,
    token: TOKEN,
    requestTls: { ca: front.ca.certPem, ALPNProtocols: ['http/1.1'] },
    allowH2: false,
  })
  const tunnel = (alpn: 'http/1.1' | 'h2') => tunnelTo(front, alpn)
  return {
    world,
    front,
    tunnel,
    async post(message, { over = 'h1', headers = {}, method = 'POST' } = {}) {
      const body = typeof message === 'string' ? message : JSON.stringify(message)
      const sent = { ...HEADERS, ...headers }
      if (over === 'h2') return sendHttp2(await tunnel('h2'), { method, body, headers: sent })
      const options = { method, dispatcher: agent, headers: sent, body }
      const reply = await request(`https://${MCP_HOST}/mcp`, options)
      return { status: reply.statusCode, headers: reply.headers, body: await reply.body.text() }
    },
    async [Symbol.asyncDispose]() {
      await agent.destroy()
      await front[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

type Sent = {
  readonly method: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

async function sendHttp2(socket: TLSSocket, { method, body, headers }: Sent): Promise<McpAnswer> {
  const session = connectHttp2(`https://${MCP_HOST}`, { createConnection: () => socket })
  try {
    const stream = session.request({ ':method': method, ':path': '/mcp', ...headers }, { endStream: false })
    stream.end(body)
    const [answered] = await once(stream, 'response')
    return { status: answered[':status'], headers: answered, body: await text(stream) }
  } finally {
    session.destroy()
  }
}

async function tunnelTo(front: TestFront, alpn: string): Promise<TLSSocket> {
  const socket = connect(front.port, '127.0.0.1')
  socket.write(
    `CONNECT ${MCP_HOST}:443 HTTP/1.1\r\nHost: ${MCP_HOST}:443\r\nProxy-Authorization: ${TOKEN}\r\n\r\n`,
  )
  await once(socket, 'data')
  const secure = connectTls({
    socket,
    servername: MCP_HOST,
    ca: front.ca.certPem,
    ALPNProtocols: [alpn],
  })
  await once(secure, 'secureConnect')
  return secure
}
