import type { Duplex } from 'node:stream'
import { readsMessages } from '../../../core/connectors/classify.ts'
import type { MessageProtocol } from '../../../core/connectors/message-protocol.ts'
import { ERRORS } from '../../../core/errors.ts'
import { createServeMessages } from '../../messages/serve-messages.ts'
import type { Upstream } from '../../upstream/http.ts'
import type { UpstreamTarget } from '../../upstream/target.ts'
import type { InnerExchanges } from '../inner-exchanges.ts'
import { type Answered, type Journaled, setAnswered, setSent } from '../phases.ts'
import type { IdleWatch } from '../response/idle.ts'
import { type HelloRule, judgeHello } from './hello-gate.ts'
import { type ClientGate, type SpliceEnd, splice } from './splice.ts'

export type TunnelDeps = Pick<Upstream, 'dialRaw'> & {
  readonly idle: IdleWatch
  readonly monotonicMs: () => number
}

export type Tunnels = {
  open(exchange: Journaled, target: UpstreamTarget, hello: HelloRule): Promise<undefined>
  /** Sends the upstream's 101 to the agent and joins both raw streams until both are closed. */
  join(exchange: Answered, upstream: Duplex, head: string): Promise<void>
}

/** Timeout in milliseconds for the ClientHello. */
const HELLO_TIMEOUT_MS = 10_000
const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n'

export function createTunnels({ dialRaw, idle, monotonicMs }: TunnelDeps): Tunnels {
  const serveMessages = createServeMessages(idle)

  async function open(exchange: Journaled, target: UpstreamTarget, hello: HelloRule): Promise<undefined> {
    const { signal } = exchange.abort
    const sent = setSent(exchange, monotonicMs())
    const upstream = await dialRaw(target)
    if (signal.aborted) {
      upstream.destroy()
      signal.throwIfAborted()
    }
    const established = setAnswered(sent, 200, monotonicMs())
    await joinGated(established, upstream, { head: ESTABLISHED, gate: gateOf(established, hello) })
    return undefined
  }

  function join(exchange: Answered, upstream: Duplex, head: string): Promise<void> {
    const messages = messagesOf(exchange)
    if (messages !== null) return joinMessages(exchange, upstream, { head, ...messages })
    return joinGated(exchange, upstream, { head, gate: undefined })
  }

  async function joinGated(exchange: Answered, upstream: Duplex, { head, gate }: Joining): Promise<void> {
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
    noteEnd(exchange, how)
  }

  async function joinMessages(
    exchange: Answered,
    upstream: Duplex,
    { head, protocol, inner }: JoiningMessages,
  ): Promise<void> {
    const client = exchange.reply.upgrade(head)
    const counts = { up: 0, down: 0 }
    exchange.tunnelBytes = counts
    const how = await serveMessages({ opening: exchange, inner, protocol, client, upstream, counts })
    noteEnd(exchange, how)
  }

  return { open, join }
}

type Messages = { readonly protocol: MessageProtocol; readonly inner: InnerExchanges }
type JoiningMessages = Messages & { readonly head: string }

/** Returns the protocol by which the messages of this WebSocket are read; null when its bytes are forwarded unread. */
function messagesOf({ connector: bound, request, services }: Answered): Messages | null {
  if (bound === undefined) return null
  const { messages: protocol } = bound.connector
  return protocol !== undefined && readsMessages(bound, request) ? { protocol, inner: services.inner } : null
}

function noteEnd({ outcome }: Answered, how: SpliceEnd): void {
  if (how === 'idle') outcome.errorType = 'timeout'
  if (how !== 'closed') outcome.note ??= 'cut'
}

type Joining = { readonly head: string; readonly gate: ClientGate | undefined }

/**
 * Returns the check of the first bytes of a tunnel; undefined without a rule. A refused tunnel is recorded as a denial
 * although the client received 200, because none of its bytes were forwarded.
 */
function gateOf({ request: { host }, outcome }: Answered, rule: HelloRule): ClientGate | undefined {
  if (rule === 'any') return undefined
  const judge = (bytes: Buffer): 'more' | 'pass' | 'refuse' => {
    const verdict = judgeHello(bytes, host, rule)
    if (verdict.kind === 'refuse') outcome.note = verdict.problem
    return verdict.kind
  }
  return { judge, isClientFirst: rule === 'required', timeoutMs: HELLO_TIMEOUT_MS }
}

function noteRefused({ outcome }: Answered): void {
  outcome.status = ERRORS.misdirected.status
  outcome.denyReason = 'ambiguous'
  outcome.errorCode = 'misdirected'
  outcome.note ??= 'tunnel refused: the client did not finish its ClientHello'
}
