import { readFileSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { eventually } from './eventually.ts'
import type { Laptop } from './laptop.ts'
import { type RawAnswer, requestBytes, sendRaw } from './raw-http.ts'
import { openSocket, openTunnel, type Target } from './tunnel.ts'

export type Headers = ReadonlyArray<readonly [string, string]>
export type AgentRequest = {
  readonly method: string
  readonly host: string
  readonly target: string
  readonly headers?: Headers
  readonly body?: string | Buffer
}

/** Protocols by which an agent reaches the gateway. All of them lead to the same request pipeline. */
export type Way = 'connect-h1' | 'connect-h2' | 'absolute' | 'port-h1'

/** Client that sends raw requests through the gateway as one agent. Each request opens a new connection. */
export type TestAgent = {
  readonly target: Target
  tunnel(host: string, alpn?: readonly string[]): Promise<TLSSocket>
  send(request: AgentRequest, way?: Way): Promise<RawAnswer>
  json(
    request: AgentRequest,
    way?: Way,
  ): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>
}

export function testAgent(laptop: Laptop, proxyUrl = laptop.ready.agents[0]?.proxy_url ?? ''): TestAgent {
  const url = new URL(proxyUrl)
  const target: Target = {
    port: Number(url.port),
    via: 'connect',
    ca: readFileSync(laptop.ready.ca_file, 'utf8'),
    ...(url.username === '' ? {} : { proxyAuthorization: basicOf(url) }),
  }
  const tunnel = (host: string, alpn?: readonly string[]) => openTunnel(target, host, alpn)
  const send = (request: AgentRequest, way: Way = 'connect-h1') => WAYS[way](target, request)
  const json = async (request: AgentRequest, way?: Way) => {
    const answer = await send(request, way)
    return {
      status: answer.status,
      body: JSON.parse(answer.body.toString() || '{}') as Record<string, unknown>,
    }
  }
  return { target, tunnel, send, json }
}

/**
 * Creates an agent that authenticates with its name and key on the shared proxy port. Resolves when the gateway accepts the
 * key.
 */
export async function keyedAgent(laptop: Laptop, name: string): Promise<TestAgent> {
  const created = await laptop.api('POST', '/api/dashboard/agents', {
    name,
    runtime: 'test',
    environment: 'test',
  })
  if (created.status >= 300) throw new Error(`agent ${name}: ${JSON.stringify(created.body)}`)
  const url = new URL(laptop.ready.gateway_url)
  url.username = name
  url.password = String(created.body['api_key'])
  const agent = testAgent(laptop, url.href)
  const probe = requestBytes('GET', 'http://nobody.invalid/', [
    ['Host', 'nobody.invalid'],
    ['Proxy-Authorization', agent.target.proxyAuthorization ?? ''],
  ])
  await eventually(`the gateway knows ${name}`, async () => {
    const socket = await openSocket(agent.target.port)
    const { status } = await sendRaw(socket, probe).finally(() => socket.destroy())
    return isBeforeConfiguration(status) ? null : status
  })
  return agent
}

/** Reports whether the gateway has no configuration yet (503), or one without the agent (407). */
export function isBeforeConfiguration(status: number): boolean {
  return status === 503 || status === 407
}

/** Creates an agent with a proxy port of its own. */
export async function portAgent(laptop: Laptop, name: string): Promise<TestAgent> {
  const token = readFileSync(`${laptop.data}/gateway.token`, 'utf8').trim()
  const answer = await fetch(`${laptop.ready.gateway_url}/internal/agents/register`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  })
  const body = (await answer.json()) as Record<string, unknown>
  if (!answer.ok) throw new Error(`agent ${name}: ${JSON.stringify(body)}`)
  return testAgent(laptop, String(body['proxy_url']))
}

function basicOf(url: URL): string {
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

const WAYS: Readonly<Record<Way, (target: Target, request: AgentRequest) => Promise<RawAnswer>>> = {
  'connect-h1': overTunnel,
  'connect-h2': overHttp2,
  absolute: overAbsoluteForm,
  'port-h1': overTunnel,
}

/**
 * Encodes a request with the header fields in this order: Host, unless `request` has its own, then `extra`, then the fields
 * of `request`.
 */
export function bytesOf(request: AgentRequest, targetForm: string, extra: Headers = []): Buffer {
  const given = request.headers ?? []
  const host: Headers = given.some(([name]) => name.toLowerCase() === 'host') ? [] : [['Host', request.host]]
  return requestBytes(request.method, targetForm, [...host, ...extra, ...given], request.body)
}

async function overTunnel(target: Target, request: AgentRequest): Promise<RawAnswer> {
  const socket = await openTunnel(target, request.host)
  try {
    return await sendRaw(socket, bytesOf(request, request.target))
  } finally {
    socket.destroy()
  }
}

async function overAbsoluteForm(target: Target, request: AgentRequest): Promise<RawAnswer> {
  const socket = await openSocket(target.port)
  const auth: Headers =
    target.proxyAuthorization === undefined ? [] : [['Proxy-Authorization', target.proxyAuthorization]]
  try {
    return await sendRaw(socket, bytesOf(request, `https://${request.host}${request.target}`, auth))
  } finally {
    socket.destroy()
  }
}

const HOP_BY_HOP = /^(host|connection|transfer-encoding|keep-alive|content-length)$/i

async function overHttp2(target: Target, request: AgentRequest): Promise<RawAnswer> {
  const socket = await openTunnel(target, request.host, ['h2'])
  const session = connectHttp2(`https://${request.host}`, { createConnection: () => socket })
  const headers = (request.headers ?? []).filter(([name]) => !HOP_BY_HOP.test(name))
  try {
    return await sendHttp2(session, { ...request, headers })
  } finally {
    session.destroy()
  }
}

/** Sends one request on an open HTTP/2 session. A Host header becomes `:authority`. Rejects when the stream is reset. */
export function sendHttp2(session: ClientHttp2Session, request: AgentRequest): Promise<RawAnswer> {
  const headers: Record<string, string | string[]> = {
    ':method': request.method,
    ':path': request.target,
    ':authority': request.host,
  }
  for (const [name, value] of request.headers ?? []) addField(headers, name.toLowerCase(), value)
  return new Promise<RawAnswer>((resolve, reject) => {
    const stream = session.request(headers, { endStream: request.body === undefined })
    const chunks: Buffer[] = []
    let status = 0
    let fields = new Map<string, string>()
    stream.on('response', (answer) => {
      status = Number(answer[':status'])
      fields = new Map(Object.entries(answer).map(([name, value]) => [name, String(value)]))
    })
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => resolve({ status, headers: fields, body: Buffer.concat(chunks) }))
    stream.on('error', reject)
    session.once('error', reject)
    stream.on('close', () => {
      session.off('error', reject)
      reject(new Error(`the stream was reset with code ${stream.rstCode}`))
    })
    if (request.body !== undefined) stream.end(request.body)
  })
}

function addField(headers: Record<string, string | string[]>, name: string, value: string): void {
  const before = headers[name === 'host' ? ':authority' : name]
  if (name === 'host') headers[':authority'] = value
  else if (before === undefined) headers[name] = value
  else headers[name] = [...(Array.isArray(before) ? before : [before]), value]
}
