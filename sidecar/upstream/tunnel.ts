import type { Duplex } from 'node:stream'
import { ERRORS } from '../../core/errors.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { Dialer } from './dial.ts'
import { type HelloRule, judgeHello } from './hello-gate.ts'
import type { IdleWatch } from './idle.ts'
import { type ClientGate, splice } from './splice.ts'
import type { UpstreamTarget } from './target.ts'

export type TunnelDeps = {
  readonly dialer: Dialer
  readonly idle: IdleWatch
  readonly monotonicMs: () => number
}

export type Tunnels = {
  open(exchange: Exchange, target: UpstreamTarget, hello: HelloRule): Promise<undefined>
  /** Hands the agent the upstream's 101 and joins the two raw streams until both are closed. */
  join(exchange: Exchange, upstream: Duplex, head: string): Promise<void>
}

/** As long as a request's head may take. */
const HELLO_TIMEOUT_MS = 10_000
const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n'

export function createTunnels({ dialer, idle, monotonicMs }: TunnelDeps): Tunnels {
  async function open(exchange: Exchange, target: UpstreamTarget, hello: HelloRule): Promise<undefined> {
    const { outcome, abort } = exchange
    outcome.upstreamStartedAt = monotonicMs()
    const upstream = await dialer.dialRaw(target)
    outcome.upstreamHeadAt = monotonicMs()
    if (abort.signal.aborted) {
      upstream.destroy()
      abort.signal.throwIfAborted()
    }
    outcome.status = 200
    await joinGated(exchange, upstream, { head: ESTABLISHED, gate: gateOf(exchange, hello) })
    return undefined
  }

  function join(exchange: Exchange, upstream: Duplex, head: string): Promise<void> {
    return joinGated(exchange, upstream, { head, gate: undefined })
  }

  async function joinGated(exchange: Exchange, upstream: Duplex, { head, gate }: Joining): Promise<void> {
    const client = exchange.reply.upgrade(head)
    exchange.tunnelBytes = { up: 0, down: 0 }
    const how = await splice({
      client,
      upstream,
      signal: exchange.abort.signal,
      idle,
      counts: exchange.tunnelBytes,
      gate,
    })
    if (how === 'refused') {
      noteRefused(exchange)
      return
    }
    if (how === 'idle') exchange.outcome.errorType = 'timeout'
    if (how !== 'closed') exchange.outcome.note ??= 'cut'
  }

  return { open, join }
}

type Joining = { readonly head: string; readonly gate: ClientGate | undefined }

/** The record of a refused tunnel is a denial, although the client was told 200: nothing it sent has left. */
function gateOf(exchange: Exchange, rule: HelloRule): ClientGate | undefined {
  const host = exchange.request?.host
  if (rule === 'any' || host === undefined) return undefined
  const { outcome } = exchange
  const judge = (bytes: Buffer): 'more' | 'pass' | 'refuse' => {
    const verdict = judgeHello(bytes, host, rule)
    if (verdict.kind === 'refuse') outcome.note = verdict.problem
    return verdict.kind
  }
  return { judge, isClientFirst: rule === 'required', timeoutMs: HELLO_TIMEOUT_MS }
}

function noteRefused({ outcome }: Exchange): void {
  outcome.status = ERRORS.misdirected.status
  outcome.denyReason = 'ambiguous'
  outcome.errorCode = 'misdirected'
  outcome.note ??= 'tunnel refused: the client did not finish its ClientHello'
}
