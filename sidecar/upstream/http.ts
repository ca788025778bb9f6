import type { Readable } from 'node:stream'
import { ChaperoneError } from '../../core/errors.ts'
import type { RawHeaders } from '../../core/request/canonical.ts'
import { headerValue } from '../../core/request/headers.ts'
import { LIMITS } from '../../core/wire/limits.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { abortReason } from './abort-reason.ts'
import { tapBody } from './body-tap.ts'
import type { Dialer } from './dial.ts'
import { outboundHeaders } from './headers.ts'
import { createIdleWatch } from './idle.ts'
import { createPools } from './pools.ts'
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
  const pools = createPools(deps.dialer)
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
      const body = bodyOf(outbound, watch.touch)
      pools.of(outbound.target).dispatch(dispatchOptions(exchange, outbound, body), relay)
      await relay.done
      if (spliced !== null) await spliced
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }

  async function close(): Promise<void> {
    idle.stop()
    await pools.close()
  }

  return { forward, tunnel: tunnels.open, close }
}

function dispatchOptions(exchange: Exchange, outbound: Outbound, body: Buffer | Readable | null) {
  const { target, rawHeaders } = outbound
  const length = Buffer.isBuffer(body) ? body.length : undefined
  const upgrade =
    exchange.kind === 'upgrade' && exchange.request?.isUpgrade !== false
      ? headerValue(rawHeaders, 'upgrade')
      : undefined
  return {
    path: target.pathPrefix + outbound.path,
    method: outbound.method,
    headers: outboundHeaders(rawHeaders, target.hostHeader, length),
    body,
    // The library would pipeline what it takes for idempotent; one request at a time per connection is the rule.
    idempotent: false,
    ...(upgrade === undefined ? {} : { upgrade }),
  }
}

function bodyOf(outbound: Outbound, touch: () => void): Buffer | Readable | null {
  const { body, onBodyChunk } = outbound
  if (body === null || Buffer.isBuffer(body)) {
    if (body !== null) onBodyChunk?.(body)
    return body
  }
  return tapBody(body, (chunk) => {
    touch()
    onBodyChunk?.(chunk)
  })
}

function silent(host: string): ChaperoneError {
  const detail = `${host} sent nothing for ${LIMITS.idleTimeoutMs / 1000} s. The request may have arrived: it is not sent again.`
  return new ChaperoneError('upstream_timeout', { detail, extra: { error_type: 'timeout' } })
}
