import type { Duplex } from 'node:stream'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Dialer } from './dial.ts'
import type { IdleWatch } from './idle.ts'
import { splice } from './splice.ts'
import type { UpstreamTarget } from './target.ts'

export type TunnelDeps = {
  readonly dialer: Dialer
  readonly idle: IdleWatch
  readonly monotonicMs: () => number
}

export type Tunnels = {
  open(exchange: Exchange, target: UpstreamTarget): Promise<undefined>
  /** Hands the agent the upstream's 101 and joins the two raw streams until both are closed. */
  join(exchange: Exchange, upstream: Duplex, head: string): Promise<void>
}

const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n'

export function createTunnels({ dialer, idle, monotonicMs }: TunnelDeps): Tunnels {
  async function open(exchange: Exchange, target: UpstreamTarget): Promise<undefined> {
    const { outcome, abort } = exchange
    outcome.upstreamStartedAt = monotonicMs()
    const upstream = await dialer.dialRaw(target)
    outcome.upstreamHeadAt = monotonicMs()
    if (abort.signal.aborted) {
      upstream.destroy()
      abort.signal.throwIfAborted()
    }
    outcome.status = 200
    await join(exchange, upstream, ESTABLISHED)
    return undefined
  }

  async function join(exchange: Exchange, upstream: Duplex, head: string): Promise<void> {
    const client = exchange.reply.upgrade(head)
    exchange.tunnelBytes = { up: 0, down: 0 }
    const how = await splice({
      client,
      upstream,
      signal: exchange.abort.signal,
      idle,
      counts: exchange.tunnelBytes,
    })
    if (how === 'idle') exchange.outcome.errorType = 'timeout'
    if (how !== 'closed') exchange.outcome.note ??= 'cut'
  }

  return { open, join }
}
