import { killReason } from '../../../core/decision/kill-switch/kill-switch.ts'
import { ChaperoneError, ERRORS, type ErrorCode, errorBody } from '../../../core/errors.ts'
import type { Refusal } from '../../../core/request/canonical.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { HEADERS } from '../../../core/wire/schema/limits.ts'
import type { DenyReason } from '../outcome.ts'
import type { Received } from '../phases.ts'
import { shownRefusal } from './brief-refusal.ts'
import { shapeRefusal } from './refusal-shape.ts'

/**
 * Content of a refusal. `detail` states why the request is refused and what to change; `extra` adds fields to the body.
 */
export type Refused = {
  readonly code: ErrorCode
  /** Reason of a denial; null for other failures (an upstream failure or an internal error). */
  readonly reason: DenyReason | null
  readonly detail: string
  /** `detail` without names of rules, for a Gateway with `refusalDetail: brief`. Absent when `detail` names none. */
  readonly brief?: string
  /** Text of the field `error` in place of the default text of the code. */
  readonly error?: string
  readonly retryAfterS?: number
  /** Id that the field `message` names in place of the record id. */
  readonly reference?: string
  readonly extra?: Readonly<Record<string, unknown>>
  /** Ids of the rules behind a denial, for the field `explain`. */
  readonly ruleIds?: readonly string[]
}

/**
 * Sends a refusal and sets the outcome for the record. All refusals of the pipeline are sent by this function. Sends
 * nothing when a response has started.
 */
export function refuse(exchange: Received, refused: Refused): 'responded' {
  const { outcome, reply, services } = exchange
  if (reply.isStarted) return 'responded'
  outcome.denyReason = refused.reason
  outcome.errorCode = refused.code
  outcome.reason = refused.detail
  services.assignRecord(exchange)
  const shown = shownRefusal(exchange, refused)
  const answer = shapeRefusal(exchange, shown, bodyOf(exchange, shown))
  outcome.status = recordedStatus(exchange, refused, answer.status)
  const headers = headersOf(exchange, shown, answer.contentType)
  reply.send(answer.status, headers, answer.body, services.afterRecord)
  return 'responded'
}

/**
 * Returns the status for the record. In an open event stream, which has status 200, a failure that is not a denial is
 * recorded with its own status, because an execution with status 200 counts as done.
 */
function recordedStatus({ reply }: Received, { code, reason }: Refused, sent: number): number {
  return reply.events !== undefined && reason === null ? ERRORS[code].status : sent
}

/** Refuses a request that the gateway cannot read or serve: 400, 405, 413, 415, 421, 426 or 431. */
export function refuseReading(
  exchange: Received,
  { code, detail, brief }: Omit<Refusal, 'kind'>,
): 'responded' {
  const short = brief === undefined ? {} : { brief }
  return refuse(exchange, { code, reason: 'ambiguous', detail, ...short, extra: { detail } })
}

export function refuseKilled(exchange: Received, entry: KillEntry): 'responded' {
  const text = killReason(entry)
  const extra = { decision: 'deny', reason: text, scope: entry.scope }
  return refuse(exchange, { code: 'kill_switch', reason: 'kill_switch', detail: text, error: text, extra })
}

/**
 * Answers an exception: a ChaperoneError with its own code, any other error with 500. Sends nothing when a response has
 * started.
 */
export function refuseFailure(exchange: Received, error: unknown): 'responded' {
  const failure = error instanceof ChaperoneError ? error : new ChaperoneError('internal', { cause: error })
  const { code, options } = failure
  const type = options.extra?.['error_type']
  if (typeof type === 'string') exchange.outcome.errorType = type
  return refuse(exchange, {
    code,
    reason: REASONS[code] ?? null,
    detail: failure.status === 500 ? ERRORS.internal.error : failure.message,
    ...(options.error === undefined ? {} : { error: options.error }),
    ...(options.retryAfterS === undefined ? {} : { retryAfterS: options.retryAfterS }),
    ...(options.extra === undefined ? {} : { extra: options.extra }),
  })
}

const REASONS: Partial<Record<ErrorCode, DenyReason>> = {
  ambiguous_request: 'ambiguous',
  malformed_request: 'ambiguous',
  method_not_allowed: 'ambiguous',
  body_too_large: 'ambiguous',
  too_many_actions: 'ambiguous',
  unsupported_body: 'ambiguous',
  upgrade_refused: 'ambiguous',
  misdirected: 'ambiguous',
  headers_too_large: 'ambiguous',
  kill_switch: 'kill_switch',
  approval_denied: 'approval_denied',
  approval_expired: 'approval_expired',
  approval_void: 'approval_void',
  proxy_auth_required: 'agent',
  rate_limited: 'rate_limit',
  too_many_holds: 'rate_limit',
  not_ready: 'not_ready',
  overloaded: 'not_ready',
  journal_unavailable: 'not_ready',
  lease_expired: 'not_ready',
  address_refused: 'address',
}

/** Codes after which the framing of the connection is not reliable. The connection is closed after the response. */
const CLOSING: ReadonlySet<ErrorCode> = new Set([
  'malformed_request',
  'ambiguous_request',
  'headers_too_large',
])
const DEFAULT_RETRY_S = 1

/** Returns the error body. No Error is created, because its stack trace would be most of the cost and is never read. */
function bodyOf(exchange: Received, refused: Refused): Record<string, unknown> {
  const { code, error } = refused
  const detail = messageOf(exchange, refused)
  const retryAfterS = retryAfter(refused)
  return errorBody({
    name: 'ChaperoneError',
    code,
    status: ERRORS[code].status,
    message: detail,
    options: {
      detail,
      ...(error === undefined ? {} : { error }),
      ...(retryAfterS === null ? {} : { retryAfterS }),
      extra: {
        ...refused.extra,
        ...explanation(exchange, refused),
        request_id: exchange.id,
        ...recordId(exchange),
      },
    },
  })
}

/** Codes of refusals by a rule or an approver. The same request would be refused again. */
const FINAL: ReadonlySet<ErrorCode> = new Set(['denied', 'approval_denied'])

/**
 * Returns the message of the error body, which a language model may read: the reason, and the id in `reference` if
 * there is one. A refusal by a rule or an approver also has the advice not to retry, and always an id by which the
 * owner of the agent finds the request.
 */
function messageOf({ id, recordId }: Received, { code, detail, reference }: Refused): string {
  if (FINAL.has(code)) return `${detail} ${ADVICE} (${reference ?? recordId ?? id})`
  return reference === undefined ? detail : `${detail} (${reference})`
}

const ADVICE = 'Do not retry; ask the owner of this agent.'

function headersOf(exchange: Received, refused: Refused, contentType: string): string[] {
  const { decision, transport } = exchange
  const verdict = refused.reason === null && decision !== undefined ? decision.verdict : 'deny'
  const headers = ['Content-Type', contentType, HEADERS.requestId, exchange.id, HEADERS.error, refused.code]
  headers.push(
    HEADERS.decision,
    verdict === 'hold' ? 'require_approval' : verdict,
    'Cache-Control',
    'no-store',
  )
  if (exchange.recordId !== undefined) headers.push(HEADERS.recordId, exchange.recordId)
  const seconds = retryAfter(refused)
  if (seconds !== null) headers.push('Retry-After', String(seconds))
  if (refused.code === 'proxy_auth_required') {
    headers.push('Proxy-Authenticate', 'Basic realm="chaperone", charset="UTF-8"')
  }
  // The response must name the protocol to use (RFC 9110, section 15.5.22).
  if (refused.code === 'upgrade_refused') headers.push('Upgrade', 'HTTP/1.1')
  const isHttp1 = transport !== 'connect-h2' && transport !== 'port-h2'
  if (isHttp1 && CLOSING.has(refused.code)) headers.push('Connection', 'close')
  return headers
}

/**
 * Returns the field `record_id`: the record, or the aggregate record that counts the refusal. Empty before an id is
 * assigned.
 */
function recordId({ recordId }: Received): Readonly<Record<string, string>> {
  return recordId === undefined ? {} : { record_id: recordId }
}

/**
 * Returns the field `explain`: the ids of the rules, and the page of the dashboard with manifest, rule and remedy. The
 * text of the rules is not included, because only users need it and a model would read it on every refusal.
 */
function explanation({ recordId }: Received, { ruleIds }: Refused): Readonly<Record<string, string>> {
  if (ruleIds === undefined) return {}
  const page = recordId === undefined ? [] : [`dashboard /#/traffic?record=${recordId}`]
  return { explain: [...ruleIds, ...page].join(', ') }
}

function retryAfter({ code, retryAfterS }: Refused): number | null {
  if (retryAfterS !== undefined) return Math.max(1, Math.ceil(retryAfterS))
  const { status } = ERRORS[code]
  return status === 429 || status === 503 ? DEFAULT_RETRY_S : null
}
