import { readFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import type { TLSSocket } from 'node:tls'
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

/** The ways in: all of them lead into the same pipeline. */
export type Way = 'connect-h1' | 'connect-h2' | 'absolute' | 'port-h1'

/** An agent on its own port, speaking bytes. One new connection a request unless a socket is asked for. */
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

function bytesOf(request: AgentRequest, targetForm: string, extra: Headers = []): Buffer {
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
  const headers: Record<string, string> = { ':method': request.method, ':path': request.target }
  for (const [name, value] of request.headers ?? []) {
    if (!HOP_BY_HOP.test(name)) headers[name.toLowerCase()] = value
  }
  try {
    return await new Promise<RawAnswer>((resolve, reject) => {
      const stream = session.request(headers)
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
      session.on('error', reject)
      stream.end(request.body)
    })
  } finally {
    session.destroy()
  }
}
