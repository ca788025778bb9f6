import { once } from 'node:events'
import {
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { Exchange } from '../../../../sidecar/pipeline/exchange.ts'
import type { DialerOptions } from '../../../../sidecar/upstream/dial.ts'
import type { UpstreamTarget } from '../../../../sidecar/upstream/target.ts'
import { createTestCa, type TestCa } from '../../../support/test-ca.ts'
import { type TestExchangeInput, type TestReply, testExchange } from '../../pipeline/test-exchange.ts'
import { startForwarding, type TestForwarding } from '../test-forwarding.ts'

export const HOST = 'grpc.example.test'
export const ca: TestCa = createTestCa()

export type CallSeen = {
  readonly raw: readonly string[]
  readonly stream: ServerHttp2Stream
  /** What arrived of the body. */
  readonly chunks: Buffer[]
  bytes: number
  /** The body came to its end in good order. */
  isEnded: boolean
}

export type GrpcServer = AsyncDisposable & {
  readonly port: number
  readonly seen: readonly CallSeen[]
  readonly sessions: ServerHttp2Session[]
  /** Connections so far, and those open now. */
  readonly connections: number
  readonly open: ReadonlySet<Socket>
  target(over?: Partial<UpstreamTarget>): UpstreamTarget
}

/** An HTTP/2 server with TLS that hands every stream to `answer`, after it has begun to write down what comes. */
export async function startGrpcServer(
  answer: (call: CallSeen) => void,
  settings: Settings = {},
): Promise<GrpcServer> {
  const server: Http2SecureServer = createSecureServer({ ...ca.issue(HOST), settings })
  const seen: CallSeen[] = []
  const sessions: ServerHttp2Session[] = []
  const open = new Set<Socket>()
  const state = { connections: 0 }
  server.on('secureConnection', (socket: Socket) => {
    state.connections += 1
    open.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
  })
  server.on('session', (session) => {
    sessions.push(session)
    session.on('error', () => session.destroy())
  })
  server.on('stream', (stream: ServerHttp2Stream, _headers: unknown, _flags: number, raw: string[]) => {
    const call: CallSeen = { raw, stream, chunks: [], bytes: 0, isEnded: false }
    seen.push(call)
    stream.on('error', () => stream.destroy())
    stream.on('data', (chunk: Buffer) => {
      call.chunks.push(chunk)
      call.bytes += chunk.length
    })
    stream.on('end', () => {
      call.isEnded = !stream.aborted && stream.rstCode === 0
    })
    answer(call)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    ...{ port, seen, sessions, open },
    get connections() {
      return state.connections
    },
    target: (over) => targetAt(port, over),
    async [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy()
      for (const socket of open) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}

export function targetAt(port: number, over: Partial<UpstreamTarget> = {}): UpstreamTarget {
  return {
    key: `${port}${JSON.stringify(over)}`,
    isTls: true,
    host: '127.0.0.1',
    port,
    servername: HOST,
    identities: [HOST],
    hostHeader: HOST,
    pathPrefix: '',
    allowPrivateAddresses: true,
    caBundle: ca.cert,
    ...over,
  }
}

export type TestUpstream = AsyncDisposable & TestForwarding

export function startUpstream(options: DialerOptions & { idleTimeoutMs?: number } = {}): TestUpstream {
  const upstream = startForwarding(options)
  return { ...upstream, [Symbol.asyncDispose]: () => upstream.close() }
}

export type TestCall = {
  readonly exchange: Exchange & { readonly reply: TestReply }
  readonly done: Promise<undefined>
}

/** A gRPC call as the HTTP/2 listener would hand it over, on its way. */
export function call(
  upstream: TestForwarding,
  target: UpstreamTarget,
  input: TestExchangeInput = {},
): TestCall {
  const headers = ['content-type', 'application/grpc', 'te', 'trailers', ...(input.headers ?? [])]
  const exchange = testExchange({
    method: 'POST',
    target: '/echo.Echo/Say',
    body: Buffer.from('hello'),
    httpVersion: '2',
    ...input,
    headers,
  })
  const done = upstream.forward(exchange, {
    target,
    method: exchange.raw.method,
    path: exchange.raw.target,
    rawHeaders: headers,
    body: exchange.body.forward(),
  })
  return { exchange, done }
}

/** A body that is fed by hand. */
export function openBody(): Readable {
  return new Readable({ read() {} })
}

/** One message, then the status. */
export function sayOk({ stream }: CallSeen): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-bin': 'AAH/' }))
  stream.end('world')
}
