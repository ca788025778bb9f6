import type { RawRequest } from '../../core/request/canonical.ts'
import type {
  Credentials,
  Exchange,
  ExchangeKind,
  Outcome,
  Reply,
  RequestBody,
  Transport,
} from '../pipeline/exchange.ts'
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
  readonly abort: AbortController
  readonly problem: Problem | null
}

export function newExchange(parts: ExchangeParts): Exchange {
  const { id, acceptedAt, timeMs, kind, transport, raw, credentials, body, reply, abort, problem } = parts
  const outcome = noOutcome()
  if (problem === null) {
    return { id, acceptedAt, timeMs, kind, transport, raw, credentials, body, reply, abort, outcome }
  }
  return {
    id,
    acceptedAt,
    timeMs,
    kind,
    transport,
    raw,
    credentials,
    body,
    reply,
    abort,
    malformed: problem,
    outcome,
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
  }
}
