import type { RawRequest } from '../../core/request/canonical.ts'
import type {
  Credentials,
  Exchange,
  ExchangeKind,
  MessageChannel,
  Outcome,
  Reply,
  RequestBody,
  Transport,
} from '../pipeline/exchange.ts'
import type { ExchangeAbort } from '../pipeline/exchange-abort.ts'
import type { Problem } from './http1/framing.ts'

export type ExchangeParts = {
  readonly id: string
  readonly acceptedAt: number
  readonly timeMs: number
  readonly kind: ExchangeKind
  readonly transport: Transport
  readonly raw: RawRequest
  readonly credentials: Credentials
  readonly body: RequestBody
  readonly reply: Reply
  readonly abort: ExchangeAbort
  readonly problem: Problem | null
  readonly channel?: MessageChannel
}

/** Creates an exchange. All fields are set at creation, so that all exchanges share one hidden class of V8. */
export function newExchange(parts: ExchangeParts): Exchange {
  return {
    id: parts.id,
    acceptedAt: parts.acceptedAt,
    timeMs: parts.timeMs,
    kind: parts.kind,
    transport: parts.transport,
    raw: parts.raw,
    credentials: parts.credentials,
    body: parts.body,
    reply: parts.reply,
    abort: parts.abort,
    malformed: parts.problem ?? undefined,
    order: undefined,
    channel: parts.channel,
    request: undefined,
    snapshot: undefined,
    agent: undefined,
    connector: undefined,
    provisional: undefined,
    actions: undefined,
    named: undefined,
    bodyBytes: undefined,
    scan: undefined,
    reservedBytes: undefined,
    isOpenEnded: undefined,
    decision: undefined,
    approvalId: undefined,
    holdId: undefined,
    actId: undefined,
    isWaiting: undefined,
    outbound: undefined,
    echoMask: undefined,
    recordId: undefined,
    intentSeq: undefined,
    assignRecord: undefined,
    inner: undefined,
    refusalRow: undefined,
    intent: undefined,
    time: undefined,
    tunnelBytes: undefined,
    outcome: noOutcome(),
  }
}

function noOutcome(): Outcome {
  return {
    status: null,
    denyReason: null,
    errorCode: null,
    errorType: null,
    note: null,
    reason: null,
    upstreamStartedAt: null,
    upstreamHeadAt: null,
    heldMs: 0,
    isEchoMasked: false,
  }
}
