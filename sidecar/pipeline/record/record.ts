import type { Decision } from '../../../core/decision/decision.ts'
import { groupNames } from '../../../core/decision/policies/required-groups.ts'
import { LOG_DECISION, type LogDecision } from '../../../core/decision/vocabulary.ts'
import type { OwnRecord, RecordCredential, RecordWhy } from '../../../core/record.ts'
import { rawRecordPath, recordPath } from '../../../core/request/redact.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { Exchange } from '../exchange.ts'
import type { HasRecordId } from '../phases.ts'
import type { NarrowedSecret, PipelinePorts } from '../ports.ts'
import { auditOf } from './record-audit.ts'
import { recordNames } from './record-names.ts'

/**
 * Builds the record of an exchange in its current state: once for the intent, once at the end, with the same id and
 * sequence number. Durations are in milliseconds. `overhead_ms` is the time of the gateway itself: it excludes the wait
 * for an approver and all time after the upstream request started.
 */
export function buildRecord(
  exchange: Exchange & HasRecordId,
  ports: Pick<PipelinePorts, 'journal' | 'clock'>,
): OwnRecord {
  const { outcome, request, raw, decision, snapshot } = exchange
  const would = wouldDecision(exchange)
  const names = recordNames(exchange)
  const now = ports.clock.monotonicMs()
  // The record is one object literal without spread, because it is built twice for every request.
  return {
    id: exchange.recordId,
    process_id: ports.journal.processId,
    seq: exchange.intentSeq,
    time: exchange.time,
    gateway: snapshot?.gateway.name ?? 'unknown',
    agent: exchange.agent?.name ?? null,
    instance: exchange.instance,
    connector: exchange.connector?.connector.name ?? null,
    action_type: names.actionType,
    candidates: names.candidates,
    actions: names.actions,
    action_count: names.actionCount,
    effects: names.effects,
    decision: logDecision(exchange),
    would,
    note: withEcho(withStopped(outcome.note ?? noteOf(exchange, would), exchange), outcome),
    reason: reasonOf(exchange),
    approval_id: exchange.approvalId ?? exchange.holdId ?? null,
    act_id: exchange.actId ?? null,
    method: raw.method.slice(0, 32),
    host: hostOf(exchange),
    path: request === undefined ? rawRecordPath(raw) : recordPath(request),
    action_details: names.actionDetails,
    function_tools: names.functionTools,
    handle: exchange.evaluation.handle,
    given: exchange.given,
    status: outcome.status,
    error_type: outcome.errorType,
    latency_ms: rounded(now - exchange.acceptedAt),
    overhead_ms: overheadMs(exchange, now),
    bytes_in: bytesIn(exchange),
    bytes_out: bytesOut(exchange),
    permission: decision?.permission ?? null,
    policies: policiesOf(decision),
    snapshot_version: snapshot?.version ?? null,
    transport: exchange.transport,
    why: whyOf(decision),
    credential: credentialOf(exchange),
    audit: auditOf(exchange),
  }
}

/** Returns the decision at full enforcement when it differs from the actual decision; otherwise null. */
function wouldDecision({ decision, outcome }: Exchange): LogDecision | null {
  if (decision === undefined || outcome.denyReason !== null) return null
  return decision.would === decision.verdict ? null : LOG_DECISION[decision.would]
}

function logDecision(exchange: Exchange): LogDecision {
  if (exchange.outcome.denyReason !== null) return 'DENY'
  if (exchange.isWaiting === true) return 'HOLD'
  if (exchange.approvalId !== undefined) return 'ALLOW'
  // When the client disconnected before a decision, no request was forwarded, so the record has the decision DENY.
  return exchange.decision === undefined ? 'DENY' : LOG_DECISION[exchange.decision.verdict]
}

function withEcho(note: string | null, { isEchoMasked }: Exchange['outcome']): string | null {
  if (!isEchoMasked) return note
  const echo = 'credential masked in the response'
  return note === null ? echo : `${note}; ${echo}`
}

function withStopped(note: string | null, { answerBudget }: Exchange): string | null {
  const stopped = answerBudget?.stopped ?? []
  if (stopped.length === 0) return note
  const text = `time budget used up: ${stopped.join(', ')}`
  return note === null ? text : `${note}; ${text}`
}

function noteOf(exchange: Exchange, would: LogDecision | null): string | null {
  return would === null ? passedNote(exchange) : wouldNote(would)
}

function reasonOf({ outcome, decision }: Exchange): string | null {
  return outcome.denyReason ?? outcome.reason ?? decision?.reason ?? null
}

function hostOf({ request, raw: { sources } }: Exchange): string | null {
  return request?.host ?? sources.connectAuthority ?? sources.sni ?? null
}

function bytesIn({ body, tunnelBytes }: Exchange): number {
  return Math.max(body.bytesIn, tunnelBytes?.up ?? 0)
}

function bytesOut({ reply, tunnelBytes }: Exchange): number {
  return Math.max(reply.bytesOut, tunnelBytes?.down ?? 0)
}

function wouldNote(would: LogDecision): string {
  return would === 'HOLD' ? 'would hold' : 'would deny'
}

/**
 * Returns the note of an exchange: `approved` after an approval, with the members that the gateway added to the body;
 * `executed` for an action that the control plane ordered without an approval; a sentence about the refused credential
 * for a request that was sent again, or was refused before it was sent again; otherwise null.
 */
function passedNote(exchange: Exchange): string | null {
  const { approvalId, order, isWaiting, outcome, completedWith } = exchange
  if (outcome.denyReason !== null || isWaiting === true)
    return exchange.isRepeated ? 'sent once; the upstream refused the credential' : null
  if (approvalId !== undefined || (order?.approvalId ?? null) !== null) return approvedNote(completedWith)
  if (order !== undefined) return 'executed'
  return exchange.isRepeated ? 'sent again because the upstream refused the credential' : null
}

function approvedNote(completedWith: readonly string[] = []): string {
  return completedWith.length === 0
    ? 'approved'
    : `approved; the gateway added ${completedWith.join(', ')} to the request`
}

function overheadMs(exchange: Exchange, now: number): number {
  const { sentAt, acceptedAt, outcome } = exchange
  return rounded(Math.max(0, (sentAt ?? now) - acceptedAt - outcome.heldMs))
}

function policiesOf(decision: Decision | undefined): string[] {
  return decision === undefined || decision.policies.length === 0 ? [] : [...decision.policies]
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

/** Explanations by decision. They are cached, because requests with the same request line share one decision object. */
const explanations = new WeakMap<Decision, RecordWhy>()

/**
 * Returns the explanation of a decision. Returns null without a decision, and for a plain allow, because its permission
 * and policies are recorded anyway.
 */
function whyOf(decision: Decision | undefined): RecordWhy | null {
  if (decision === undefined || (decision.verdict === 'allow' && decision.would === 'allow')) return null
  const found = explanations.get(decision)
  if (found !== undefined) return found
  const why: RecordWhy = {
    source: decision.source,
    reason: decision.reason,
    pattern: decision.permissionPattern,
    rules: decision.rules.map(({ policyName, rule }) => ({ policy: policyName, rule })),
    risk_score: decision.riskScore,
    risk_factors: [...decision.riskFactors],
    approver_groups: groupNames(decision.requiredGroups),
  }
  explanations.set(decision, why)
  return why
}

/**
 * Cached descriptions of credentials, by Connector entry and by narrowed token. A description does not contain the
 * credential itself. Records share the objects.
 */
const ofEntries = new WeakMap<ConnectorEntry, RecordCredential>()
const ofTokens = new WeakMap<NarrowedSecret, RecordCredential>()
/** Maximum number of repositories and permissions that a record lists for a token. */
const MAX_SCOPE = 128

/**
 * Returns a description of the credential that the gateway added to the request, without the credential itself. Returns
 * undefined when the gateway added none, and for a refused request.
 */
function credentialOf(exchange: Exchange): RecordCredential | undefined {
  const { connector, echoMask, narrowed, outcome } = exchange
  // The echo mask exists exactly when a credential was added.
  if (connector === undefined || !echoMask || outcome.denyReason !== null) return undefined
  const { entry } = connector
  if (narrowed?.kind === 'token') return ofToken(entry, narrowed.token)
  const own = ofEntry(entry)
  return narrowed === null ? own : { ...own, not_narrowed: narrowed.reason.slice(0, MAX_REASON) }
}

const MAX_REASON = 500

function ofToken(entry: ConnectorEntry, token: NarrowedSecret): RecordCredential {
  const known = ofTokens.get(token)
  if (known !== undefined) return known
  const made: RecordCredential = {
    id: token.id,
    source: entry.minted?.kind ?? 'minted',
    scope: token.scope.slice(0, MAX_SCOPE),
    expires_at: new Date(token.expiresAtMs).toISOString(),
  }
  ofTokens.set(token, made)
  return made
}

/**
 * Returns the description of the Connector's credential. The id ends with the version of the credential. An earlier
 * version of the control plane states only the serial number of a short-lived credential.
 */
function ofEntry(entry: ConnectorEntry): RecordCredential {
  const known = ofEntries.get(entry)
  if (known !== undefined) return known
  const { name, minted, credential } = entry
  const version = credential?.version ?? minted?.serial
  const made: RecordCredential = {
    id: version === undefined ? name : `${name}/${version}`,
    source: credential?.source ?? (minted === undefined ? 'stored' : (minted.kind ?? 'minted')),
    ...(credential?.scope === undefined ? {} : { scope: credential.scope }),
    ...(minted === undefined ? {} : { expires_at: minted.expires_at }),
  }
  ofEntries.set(entry, made)
  return made
}
