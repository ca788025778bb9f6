import type { RawHeaders } from '../../core/request/canonical.ts'
import { headerValue } from '../../core/request/headers.ts'
import { LIMITS } from '../../core/wire/limits.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { abortReason } from './abort-reason.ts'
import type { Dialer } from './dial.ts'
import { outboundHeaders } from './headers.ts'
import type { HelloRule } from './hello-gate.ts'
import type { UpstreamConnection, WireRequest } from './http1/connection.ts'
import { createPool } from './http1/pool.ts'
import type { HeadText } from './http1/request-head.ts'
import { createCalls } from './http2/calls.ts'
import { needsHttp2 } from './http2/needs-http2.ts'
import { createIdleWatch } from './idle.ts'
import { createJsonReader } from './json-reader.ts'
import { createLookUps, type LookUpDeps, type LookUpPort } from './look-ups.ts'
import type { Outbound } from './outbound.ts'
import { Relay, type RelayDeps } from './relay.ts'
import type { UpstreamTarget } from './target.ts'
import { createTunnels } from './tunnel.ts'

export type Upstream = {
  /**
   * Sends one request (or upgrade) and forwards the response to the agent. When no response was started, rejects with a
   * ChaperoneError (502, 504) or the abort reason. A failure after the response head cuts the response, and the promise
   * resolves.
   */
  forward(exchange: Exchange, outbound: Outbound): Promise<undefined>
  /**
   * Opens a CONNECT tunnel without decryption: resolves, checks and dials the host, and answers 200. The client's first
   * bytes are forwarded only when they satisfy `hello`.
   */
  tunnel(exchange: Exchange, target: UpstreamTarget, hello: HelloRule): Promise<undefined>
  /** Look-ups: reads from a provider by the gateway itself. */
  readonly lookUps: LookUpPort
  close(): Promise<void>
}

export type UpstreamDeps = {
  readonly dialer: Dialer
  readonly monotonicMs: () => number
  readonly idleTimeoutMs?: number
  /** Counts a look-up for the metrics. */
  readonly onLookUp?: LookUpDeps['onAsked']
}

export function createUpstream(deps: UpstreamDeps): Upstream {
  const { monotonicMs } = deps
  const pool = createPool(deps.dialer, monotonicMs)
  const calls = createCalls(deps.dialer)
  const idle = createIdleWatch(deps.idleTimeoutMs ?? LIMITS.idleTimeoutMs)
  const tunnels = createTunnels({ dialer: deps.dialer, idle, monotonicMs })
  const reader = createJsonReader(deps)
  const lookUps = createLookUps({ reader, monotonicMs, onAsked: deps.onLookUp ?? (() => undefined) })
  const relayDeps: RelayDeps = { monotonicMs, idle, join: tunnels.join }

  // `forward` is not an async function: returning the promise of the relay saves one promise for each request.
  function forward(exchange: Exchange, outbound: Outbound): Promise<undefined> {
    const { signal } = exchange.abort
    if (signal.aborted) return Promise.reject(abortReason(signal))
    const relay = new Relay(exchange, outbound, relayDeps)
    exchange.outcome.upstreamStartedAt = monotonicMs()
    const request = wireRequest(exchange, outbound, relay)
    if (needsHttp2(exchange)) {
      calls.start(outbound.target, request, relay)
      return relay.done
    }
    const kept = pool.take(outbound.target)
    if (kept === null) dialAndSend(outbound.target, request, relay)
    else sendOn(kept, request, relay)
    return relay.done
  }

  function dialAndSend(target: UpstreamTarget, request: WireRequest, relay: Relay): void {
    pool.dial(target).then(
      (connection) => {
        // The client disconnected while the connection was dialed. Nothing was sent, so the connection is discarded.
        if (relay.isOver) connection.socket.destroy()
        else sendOn(connection, request, relay)
      },
      (error: Error) => relay.error(error),
    )
  }

  function close(): Promise<void> {
    idle.stop()
    pool.close()
    calls.close()
    reader.close()
    return Promise.resolve()
  }

  return { forward, tunnel: tunnels.open, lookUps, close }
}

function sendOn(connection: UpstreamConnection, request: WireRequest, relay: Relay): void {
  relay.startsOn(connection)
  connection.send(request, relay)
}

function wireRequest(exchange: Exchange, outbound: Outbound, relay: Relay): WireRequest {
  const { body, rawHeaders } = outbound
  outbound.body = null
  const isWhole = body === null || Buffer.isBuffer(body)
  if (body !== null && isWhole) relay.sees(body)
  return new Wire(outbound, {
    body,
    upgrade: upgradeOf(exchange, rawHeaders),
    onBodyChunk: isWhole ? null : (chunk) => relay.sees(chunk),
  })
}

/** A request on the wire. Its headers are made when they are read: a head that was written before needs none. */
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

function upgradeOf(exchange: Exchange, rawHeaders: RawHeaders): string | null {
  const isUpgrade = exchange.kind === 'upgrade' && exchange.request?.isUpgrade !== false
  return isUpgrade ? (headerValue(rawHeaders, 'upgrade') ?? null) : null
}
