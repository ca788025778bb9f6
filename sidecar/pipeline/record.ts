import { LOG_DECISION, type LogDecision } from '../../core/decision/vocabulary.ts'
import type { TrafficRecord } from '../../core/record.ts'
import { rawRecordPath, recordPath } from '../../core/request/redact.ts'
import type { Exchange } from './exchange.ts'
import type { PipelinePorts } from './ports.ts'

/**
 * The one record of an exchange as it stands: with the intent before anything was answered, and at its end. Both
 * have the same id and sequence number. Times in ms; overhead is what the gateway itself took: neither the wait for
 * a person nor anything from the moment the request was handed to the upstream connection counts.
 */
export function buildRecord(exchange: Exchange, ports: PipelinePorts): TrafficRecord {
  exchange.recordId ??= ports.newId('record')
  exchange.intentSeq ??= ports.journal.nextSeq()
  const { outcome, request, raw, decision, snapshot } = exchange
  return {
    id: exchange.recordId,
    process_id: ports.journal.processId,
    seq: exchange.intentSeq,
    time: new Date(exchange.timeMs).toISOString(),
    gateway: snapshot?.gateway.name ?? 'unknown',
    agent: exchange.agent?.name ?? null,
    connector: exchange.connector?.connector.name ?? null,
    action_type: primaryType(exchange),
    ...verdictFields(exchange),
    approval_id: exchange.approvalId ?? exchange.holdId ?? null,
    act_id: exchange.actId ?? null,
    method: raw.method.slice(0, 32),
    host: request?.host ?? raw.sources.connectAuthority ?? raw.sources.sni ?? null,
    path: request === undefined ? rawRecordPath(raw) : recordPath(request),
    status: outcome.status,
    error_type: outcome.errorType,
    ...times(exchange, ports.clock.monotonicMs()),
    ...bytes(exchange),
    permission: decision?.permission ?? null,
    policies: decision === undefined ? [] : [...decision.policies],
    snapshot_version: snapshot?.version ?? null,
    transport: exchange.transport,
  }
}

/** The action that stands for the exchange: the riskiest of several, the only one otherwise. */
export function primaryType(exchange: Exchange): string | null {
  const { actions } = exchange
  if (actions === undefined) return null
  const [first, ...rest] = actions
  if (first === undefined) return null
  let primary = first
  for (const action of rest) if (RANK[action.risk] > RANK[primary.risk]) primary = action
  return primary.type
}

const RANK = { low: 0, medium: 1, high: 2 } as const

function verdictFields(exchange: Exchange) {
  const { outcome, decision } = exchange
  const happened = logDecision(exchange)
  const would = decision === undefined || outcome.denyReason !== null ? null : LOG_DECISION[decision.would]
  const differs = would !== null && decision?.would !== decision?.verdict
  return {
    decision: happened,
    would: differs ? would : null,
    note: outcome.note ?? (differs ? wouldNote(would) : approvedNote(exchange)),
    reason: outcome.denyReason ?? outcome.reason ?? decision?.reason ?? null,
  }
}

function logDecision(exchange: Exchange): LogDecision {
  if (exchange.outcome.denyReason !== null) return 'DENY'
  if (exchange.isWaiting === true) return 'HOLD'
  if (exchange.approvalId !== undefined) return 'ALLOW'
  // Never decided and not refused either: the agent left first, so nothing was let through.
  return exchange.decision === undefined ? 'DENY' : LOG_DECISION[exchange.decision.verdict]
}

function wouldNote(would: LogDecision): string {
  return would === 'HOLD' ? 'would hold' : 'would deny'
}

function approvedNote(exchange: Exchange): string | null {
  return exchange.approvalId !== undefined && exchange.outcome.denyReason === null ? 'approved' : null
}

function times(exchange: Exchange, now: number) {
  const { upstreamStartedAt, heldMs } = exchange.outcome
  const own = (upstreamStartedAt ?? now) - exchange.acceptedAt - heldMs
  return { latency_ms: rounded(now - exchange.acceptedAt), overhead_ms: rounded(Math.max(0, own)) }
}

function bytes(exchange: Exchange) {
  const { tunnelBytes, body, reply } = exchange
  return {
    bytes_in: Math.max(body.bytesIn, tunnelBytes?.up ?? 0),
    bytes_out: Math.max(reply.bytesOut, tunnelBytes?.down ?? 0),
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
