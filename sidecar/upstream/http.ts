import type { Readable } from 'node:stream'
import { ChaperoneError } from '../../core/errors.ts'
import type { RawHeaders } from '../../core/request/canonical.ts'
import { headerValue } from '../../core/request/headers.ts'
import { LIMITS } from '../../core/wire/limits.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { abortReason } from './abort-reason.ts'
import type { Dialer } from './dial.ts'
import { outboundHeaders } from './headers.ts'
import type { UpstreamConnection, WireRequest } from './http1/connection.ts'
import { createPool } from './http1/pool.ts'
import { createIdleWatch } from './idle.ts'
import { Relay } from './relay.ts'
import type { UpstreamTarget } from './target.ts'
import { createTunnels } from './tunnel.ts'

/** One request as it leaves, credential included. `target` bytes go out exactly as they are. */
export type Outbound = {
  readonly target: UpstreamTarget
  readonly method: string
  readonly path: string
  readonly rawHeaders: RawHeaders
  readonly body: Buffer | Readable | null
  /** Sees every chunk of a streamed body on its way. */
  readonly onBodyChunk?: (chunk: Buffer) => void
}

export type Upstream = {
  /**
   * Sends one request (or upgrade) and carries the answer to the agent. Rejects with a ChaperoneError (502, 504) or
   * the abort reason when nothing was answered; a failure after the head cuts the answer and resolves.
   */
  forward(exchange: Exchange, outbound: Outbound): Promise<void>
  /** A CONNECT that is not decrypted: resolves, checks, dials, answers 200, and joins the two ends. */
  tunnel(exchange: Exchange, target: UpstreamTarget): Promise<void>
  close(): Promise<void>
}

export type UpstreamDeps = {
  readonly dialer: Dialer
  readonly monotonicMs: () => number
  readonly idleTimeoutMs?: number
}

export function createUpstream(deps: UpstreamDeps): Upstream {
  const pool = createPool(deps.dialer, deps.monotonicMs)
  const idle = createIdleWatch(deps.idleTimeoutMs ?? LIMITS.idleTimeoutMs)
  const tunnels = createTunnels({ dialer: deps.dialer, idle, monotonicMs: deps.monotonicMs })

  async function forward(exchange: Exchange, outbound: Outbound): Promise<void> {
    const { signal } = exchange.abort
    if (signal.aborted) throw abortReason(signal)
    let spliced: Promise<void> | null = null
    const watch = idle.add(() => relay.cut(silent(outbound.target.host)))
    const relay = new Relay(exchange, {
      monotonicMs: deps.monotonicMs,
      idle: watch,
      upstreamHost: outbound.target.host,
      onUpgrade: (head, socket) => {
        spliced = tunnels.join(exchange, socket, head)
      },
    })
    const onAbort = () => relay.cut(abortReason(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      exchange.outcome.upstreamStartedAt = deps.monotonicMs()
      const request = wireRequest(exchange, outbound, watch.touch)
      const kept = pool.take(outbound.target)
      if (kept === null) dialAndSend(outbound.target, request, relay)
      else sendOn(kept, request, relay)
      await relay.done
      if (spliced !== null) await spliced
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  function dialAndSend(target: UpstreamTarget, request: WireRequest, relay: Relay): void {
    pool.dial(target).then(
      (connection) => {
        // Whoever asked has gone meanwhile: nothing was sent, and nobody waits for this connection.
        if (relay.isOver) connection.socket.destroy()
        else sendOn(connection, request, relay)
      },
      (error: Error) => relay.error(error),
    )
  }

  function close(): Promise<void> {
    idle.stop()
    pool.close()
    return Promise.resolve()
  }

  return { forward, tunnel: tunnels.open, close }
}

function sendOn(connection: UpstreamConnection, request: WireRequest, relay: Relay): void {
  relay.startsOn(connection)
  connection.send(request, relay)
}

function wireRequest(exchange: Exchange, outbound: Outbound, touch: () => void): WireRequest {
  const { target, method, body, rawHeaders, onBodyChunk } = outbound
  const isWhole = body === null || Buffer.isBuffer(body)
  if (body !== null && isWhole) onBodyChunk?.(body)
  return {
    method,
    path: target.pathPrefix + outbound.path,
    headers: outboundHeaders(rawHeaders, target.hostHeader, isWhole ? body?.length : undefined),
    upgrade: upgradeOf(exchange, rawHeaders),
    body,
    onBodyChunk(chunk) {
      touch()
      onBodyChunk?.(chunk)
    },
  }
}

function upgradeOf(exchange: Exchange, rawHeaders: RawHeaders): string | null {
  const isUpgrade = exchange.kind === 'upgrade' && exchange.request?.isUpgrade !== false
  return isUpgrade ? (headerValue(rawHeaders, 'upgrade') ?? null) : null
}

function silent(host: string): ChaperoneError {
  const detail = `${host} sent nothing for ${LIMITS.idleTimeoutMs / 1000} s. The request may have arrived: it is not sent again.`
  return new ChaperoneError('upstream_timeout', { detail, extra: { error_type: 'timeout' } })
}
