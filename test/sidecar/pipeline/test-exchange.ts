import { Duplex, PassThrough, Readable } from 'node:stream'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import type { Credentials } from '../../../sidecar/pipeline/credentials/credentials.ts'
import { Exchange, type ExchangeKind, type Transport } from '../../../sidecar/pipeline/exchange.ts'
import type { Reply, ReplyStream } from '../../../sidecar/pipeline/reply.ts'
import type { RequestBody } from '../../../sidecar/pipeline/request-body.ts'

export type TestReply = Reply & {
  status: number | null
  headers: RawHeaders
  readonly chunks: Buffer[]
  readonly interims: number[]
  trailers: RawHeaders | null
  /** `open`, `sent` whole, `ended` after streaming, `destroyed`, `upgraded`. */
  state: 'open' | 'sent' | 'streaming' | 'ended' | 'destroyed' | 'upgraded'
  upgradeHead: string | null
  /** The agent's end of an upgraded connection. */
  readonly agentSide: Duplex
  text(): string
  json(): Record<string, unknown>
  header(name: string): string | undefined
  /** While true every write reports a slow client; `drain` lets it go on. */
  isSlow: boolean
  drain(): void
}

export type TestExchangeInput = {
  readonly method?: string
  readonly target?: string
  readonly host?: string
  readonly headers?: readonly string[]
  readonly body?: string | Buffer | Readable
  readonly kind?: ExchangeKind
  /** Default: the transport of a request of this kind and scheme to the proxy. */
  readonly transport?: Transport
  readonly credentials?: Credentials
  readonly scheme?: 'http' | 'https'
  readonly httpVersion?: '1.1' | '2'
}

let counter = 0

/** An exchange as a listener makes it, with the agent's side in memory. */
export function testExchange(input: TestExchangeInput = {}): Exchange & { readonly reply: TestReply } {
  counter += 1
  const host = input.host ?? 'api.github.com'
  const reply = testReply()
  const { method = 'GET', target = '/', headers = [], kind = 'http', scheme = 'https' } = input
  const exchange = new Exchange({
    id: `req_test${counter}`,
    acceptedAt: performance.now(),
    timeMs: Date.now(),
    kind,
    transport:
      input.transport ?? (kind === 'tunnel' ? 'connect' : scheme === 'https' ? 'connect-h1' : 'absolute'),
    raw: {
      method,
      target,
      rawHeaders: ['Host', host, ...framing(input.body), ...headers],
      httpVersion: input.httpVersion ?? '1.1',
      scheme,
      sources: {},
    },
    credentials: input.credentials ?? { kind: 'port', agent: 'builder' },
    body: testBody(input.body),
    reply,
    abort: new AbortController(),
  })
  return Object.assign(exchange, { reply })
}

function framing(body: TestExchangeInput['body']): string[] {
  if (body === undefined) return []
  if (body instanceof Readable) return ['Transfer-Encoding', 'chunked']
  return ['Content-Length', String(Buffer.byteLength(body))]
}

function testBody(body: TestExchangeInput['body']): RequestBody {
  const whole = body === undefined || body instanceof Readable ? null : Buffer.from(body)
  let bytesIn = whole?.length ?? 0
  let replay: Buffer | Readable | null = body instanceof Readable ? body : whole
  const parts: Buffer[] = []
  const pieces = body instanceof Readable ? body[Symbol.asyncIterator]() : null
  return {
    isEmpty: body === undefined,
    get bytesIn() {
      return bytesIn
    },
    arrived: () => (body === undefined ? Buffer.alloc(0) : whole),
    async buffer(limit) {
      if (body === undefined) return Buffer.alloc(0)
      if (whole !== null) return whole.length <= limit ? whole : null
      while (bytesIn <= limit) {
        const piece = await pieces?.next()
        if (piece === undefined || piece.done === true) break
        parts.push(piece.value as Buffer)
        bytesIn += parts.at(-1)?.length ?? 0
      }
      if (bytesIn > limit) return null
      replay = Buffer.concat(parts)
      return replay
    },
    peek: async () => whole ?? Buffer.alloc(0),
    endsWithin: async () => whole !== null,
    forward: () => replay,
    release: () => undefined,
  }
}

function testReply(): TestReply {
  const waiting: Array<() => void> = []
  const [agentSide, gatewaySide] = duplexPair()
  agentSide.on('error', () => agentSide.destroy())
  gatewaySide.on('error', () => gatewaySide.destroy())
  const finish = (state: TestReply['state']) => {
    reply.state = state
  }
  const stream: ReplyStream = {
    write(chunk) {
      reply.chunks.push(Buffer.from(chunk))
      return !reply.isSlow
    },
    onDrain: (callback) => waiting.push(callback),
    end(trailers) {
      reply.trailers = trailers ?? null
      finish('ended')
    },
    destroy: () => finish('destroyed'),
  }
  const start = (status: number, headers: RawHeaders) => {
    if (reply.isStarted) throw new Error('the reply was started twice')
    reply.status = status
    reply.headers = headers
  }
  const reply: TestReply = {
    status: null,
    headers: [],
    chunks: [],
    interims: [],
    trailers: null,
    state: 'open',
    upgradeHead: null,
    agentSide,
    isSlow: false,
    get isStarted() {
      return reply.state !== 'open'
    },
    get bytesOut() {
      return reply.chunks.reduce((sum, chunk) => sum + chunk.length, 0)
    },
    send(status, headers, body) {
      start(status, headers)
      reply.chunks.push(Buffer.from(body))
      finish('sent')
    },
    stream(status, headers) {
      start(status, headers)
      finish('streaming')
      return stream
    },
    interim: (status) => reply.interims.push(status),
    upgrade(head) {
      start(Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]), [])
      reply.upgradeHead = head
      finish('upgraded')
      return gatewaySide
    },
    text: () => Buffer.concat(reply.chunks).toString(),
    json: () => JSON.parse(reply.text()),
    header(name) {
      const at = reply.headers.findIndex(
        (field, i) => i % 2 === 0 && field.toLowerCase() === name.toLowerCase(),
      )
      return at === -1 ? undefined : reply.headers[at + 1]
    },
    drain() {
      reply.isSlow = false
      for (const callback of waiting.splice(0)) callback()
    },
  }
  return reply
}

/** Two ends of an in-memory connection with half-close. */
function duplexPair(): [Duplex, Duplex] {
  const there = new PassThrough()
  const back = new PassThrough()
  const end = (readable: Readable, writable: PassThrough) => Duplex.from({ readable, writable }) as Duplex
  return [end(back, there), end(there, back)]
}
