import type { RawHeaders } from '../../core/request/canonical.ts'
import type { Problem } from '../listener/http1/framing.ts'
import { Exchange } from '../pipeline/exchange.ts'
import { createExchangeAbort } from '../pipeline/exchange-abort.ts'
import type { InnerExchanges, MessageChannel } from '../pipeline/inner-exchanges.ts'
import type { Reply } from '../pipeline/reply.ts'
import type { RequestBody } from '../pipeline/request-body.ts'

export type MessageParts = {
  /** Exchange of the handshake that opened the WebSocket. */
  readonly opening: Exchange
  readonly inner: InnerExchanges
  readonly channel: MessageChannel
  /** Body of the equivalent HTTP request. */
  readonly body: Buffer
  readonly problem: Problem | null
  readonly reply: Reply
}

/**
 * Creates the exchange of one WebSocket message, which is equivalent to a POST with the agent, credentials and headers
 * of the handshake.
 */
export function messageExchange(parts: MessageParts): Exchange {
  const { opening, inner, channel, body, problem, reply } = parts
  return new Exchange({
    id: inner.newRequestId(),
    acceptedAt: inner.clock.monotonicMs(),
    timeMs: inner.clock.nowMs(),
    kind: 'http',
    transport: 'websocket',
    raw: { ...opening.raw, method: 'POST', rawHeaders: headersOf(opening.raw.rawHeaders, body.length) },
    credentials: opening.credentials,
    body: wholeBody(body),
    abort: createExchangeAbort(),
    reply,
    problem,
    channel,
    bodyBytes: problem === null ? body : undefined,
  })
}

/**
 * Matches headers that are not copied from the handshake: hop-by-hop headers, handshake headers, and headers that
 * describe a body.
 */
const DROPPED =
  /^(connection|upgrade|keep-alive|proxy-connection|te|trailer|expect|sec[-_]websocket[-_].*|content[-_].*|transfer[-_].*)$/i

function headersOf(rawHeaders: RawHeaders, length: number): string[] {
  const kept = rawHeaders.filter((_text, at) => !DROPPED.test(rawHeaders[at - (at % 2)] ?? ''))
  return [...kept, 'Content-Type', 'application/json', 'Content-Length', String(length)]
}

function wholeBody(bytes: Buffer): RequestBody {
  return {
    isEmpty: bytes.length === 0,
    bytesIn: bytes.length,
    arrived: () => bytes,
    buffer: async (limit) => (bytes.length <= limit ? bytes : null),
    peek: async () => bytes,
    endsWithin: async () => true,
    forward: () => bytes,
    release: () => undefined,
  }
}

export type MessageReply = Reply & {
  /** Counts the bytes of a response event that was forwarded to the client. */
  count(bytes: number): void
}

/**
 * Creates the reply to a message. A refusal is written as one event. The events of an upstream response do not pass
 * through this object.
 */
export function messageReply(write: (event: string) => void): MessageReply {
  let isStarted = false
  let bytesOut = 0
  return {
    get isStarted() {
      return isStarted
    },
    get bytesOut() {
      return bytesOut
    },
    count(bytes) {
      bytesOut += bytes
    },
    send(_status, _headers, body) {
      isStarted = true
      const event = body.toString()
      bytesOut += Buffer.byteLength(event)
      write(event)
    },
    stream() {
      isStarted = true
      return { write: () => true, onDrain: (callback) => callback(), end() {}, destroy() {} }
    },
    interim: () => undefined,
    upgrade() {
      throw new Error('a message on a WebSocket cannot open another WebSocket or upgraded connection')
    },
  }
}
