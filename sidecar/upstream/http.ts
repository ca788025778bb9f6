import type { Duplex } from 'node:stream'
import type { RawHeaders } from '../../core/request/canonical.ts'
import type { AnswerReceiver } from './answer-receiver.ts'
import type { Dialer } from './dial.ts'
import { outboundHeaders } from './headers.ts'
import type { UpstreamConnection, WireRequest } from './http1/connection.ts'
import { createPool } from './http1/pool.ts'
import type { HeadText } from './http1/request-head.ts'
import { createCalls } from './http2/calls.ts'
import { createJsonReader } from './json-reader.ts'
import { createLookUps, type LookUpDeps, type LookUpPort } from './look-ups.ts'
import type { Outbound, Sending } from './outbound.ts'
import type { UpstreamTarget } from './target.ts'

export type Upstream = {
  /** Sends one request (or upgrade). The receiver gets the response, or the error. */
  send(outbound: Outbound, how: Sending, receiver: AnswerReceiver): void
  /** Resolves, checks and dials the host of a tunnel. */
  dialRaw(target: UpstreamTarget): Promise<Duplex>
  /** Look-ups: reads from a provider by the gateway itself. */
  readonly lookUps: LookUpPort
  close(): Promise<void>
}

export type UpstreamDeps = {
  readonly dialer: Dialer
  readonly monotonicMs: () => number
  /** Counts a look-up for the metrics. */
  readonly onLookUp?: LookUpDeps['onAsked']
}

export function createUpstream(deps: UpstreamDeps): Upstream {
  const { dialer, monotonicMs } = deps
  const pool = createPool(dialer, monotonicMs)
  const calls = createCalls(dialer)
  const reader = createJsonReader(deps)
  const lookUps = createLookUps({ reader, monotonicMs, onAsked: deps.onLookUp ?? (() => undefined) })

  function send(outbound: Outbound, how: Sending, receiver: AnswerReceiver): void {
    const { target } = outbound
    const request = wireRequest(outbound, how, receiver)
    if (how.isHttp2) {
      calls.start(target, request, receiver)
      return
    }
    const kept = pool.take(target)
    if (kept === null) dialAndSend(target, request, receiver)
    else sendOn(kept, request, receiver)
  }

  function dialAndSend(target: UpstreamTarget, request: WireRequest, receiver: AnswerReceiver): void {
    pool.dial(target).then(
      (connection) => {
        // The client disconnected while the connection was dialed. Nothing was sent, so the connection is discarded.
        if (receiver.isOver) connection.socket.destroy()
        else sendOn(connection, request, receiver)
      },
      (error: Error) => receiver.error(error),
    )
  }

  function close(): Promise<void> {
    pool.close()
    calls.close()
    reader.close()
    return Promise.resolve()
  }

  return { send, dialRaw: (target) => dialer.dialRaw(target), lookUps, close }
}

function sendOn(connection: UpstreamConnection, request: WireRequest, receiver: AnswerReceiver): void {
  receiver.startsOn(connection)
  connection.send(request, receiver)
}

function wireRequest(outbound: Outbound, { upgrade }: Sending, receiver: AnswerReceiver): WireRequest {
  const { body } = outbound
  outbound.body = null
  const isWhole = body === null || Buffer.isBuffer(body)
  if (body !== null && isWhole) receiver.sent(body)
  return new Wire(outbound, { body, upgrade, onBodyChunk: isWhole ? null : (chunk) => receiver.sent(chunk) })
}

/**
 * A request as the connection writes it. `headers` is built only when it is read, because a cached head (`headText`)
 * does not need it.
 */
class Wire implements WireRequest {
  readonly method: string
  readonly path: string
  readonly host: string
  readonly headText: HeadText | null
  readonly upgrade: string | null
  readonly body: WireRequest['body']
  readonly onBodyChunk: WireRequest['onBodyChunk']
  readonly #rawHeaders: RawHeaders

  constructor(
    { target, method, path, rawHeaders, headText = null }: Outbound,
    { body, upgrade, onBodyChunk }: Pick<WireRequest, 'body' | 'upgrade' | 'onBodyChunk'>,
  ) {
    this.method = method
    this.path = target.pathPrefix + path
    this.host = target.hostHeader
    this.headText = upgrade === null ? headText : null
    this.upgrade = upgrade
    this.body = body
    this.onBodyChunk = onBodyChunk
    this.#rawHeaders = rawHeaders
  }

  get headers(): RawHeaders {
    const length = Buffer.isBuffer(this.body) ? this.body.length : undefined
    return outboundHeaders(this.#rawHeaders, this.host, length)
  }
}
