import type { Action } from '../../core/action/action.ts'
import type { Named, OutboundEdit } from '../../core/connectors/connector.ts'
import type { BoundConnector } from '../../core/connectors/registry.ts'
import type { Decision } from '../../core/decision/decision.ts'
import type { CanonicalRequest } from '../../core/request/canonical.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { AgentEntry } from '../../core/wire/gateway/sync.ts'
import type { ProvisionalClassification } from './classification/provisional-classification.ts'
import type { Exchange, ExchangeServices } from './exchange.ts'
import { Evaluation, NOT_EVALUATED } from './exchange.ts'
import type { Outcome } from './outcome.ts'
import type { JournalPort, OpenIntent, PipelinePorts } from './ports.ts'
import type { SystemOrder } from './system-order.ts'

/*
 * Phases of a request: an `Exchange` is what a listener received, and each type below adds the fields that are set from
 * its phase on. A stage takes the phase before it and returns the next one, so that the compiler checks the order of
 * the stages. Only the functions below bring an exchange to a phase: they set its values and return the same object.
 */

export type HasServices = { readonly services: ExchangeServices }
export type HasSnapshot = { readonly snapshot: Snapshot }
export type HasAgent = { readonly agent: AgentEntry }
/** `read`: the request as parsed. `request`: the request that is evaluated, without credentials in its query. */
export type HasRequest = { readonly read: CanonicalRequest; readonly request: CanonicalRequest }
export type HasConnector = { readonly connector: BoundConnector }
export type HasActions = { readonly named: Named; readonly actions: readonly Action[] }
export type HasDecision = { readonly decision: Decision }
export type HasOutbound = { readonly outbound: OutboundEdit }
/** Id and sequence number of the record, and its time in ISO 8601. Intent and result have the same three values. */
export type HasRecordId = { readonly recordId: string; readonly intentSeq: number; readonly time: string }
export type HasIntent = HasRecordId & { readonly intent: OpenIntent }
export type HasSentTime = { readonly sentAt: number }
export type HasResponseHead = {
  readonly answeredAt: number
  readonly outcome: Outcome & { readonly status: number }
}

/** The pipeline runs the exchange. */
export type Received = Exchange & HasServices
/** A request under one snapshot. */
export type Loaded = Received & HasSnapshot
/** The agent is known and active. */
export type Identified = Loaded & HasAgent
/** The head was parsed, and a connector owns the host of the request. */
export type Governed = Identified & HasRequest & HasConnector
/** The head was parsed, and no connector owns the host of the request. */
export type ReadUnowned = Identified & HasRequest & { readonly connector: undefined }
export type Read = Governed | ReadUnowned
/** No connector owns the host. The stage `route` has decided, and lets the request pass. */
export type Unowned = ReadUnowned & HasDecision
export type Routed = Governed | Unowned
/** The actions of the request, or their candidates, are known. */
export type Classified = Governed & HasActions
export type Decided = Classified & HasDecision
/** Decided under the snapshot of the exchange, by `evaluate` or by `route`. */
export type Evaluated = Decided | Unowned

/** A request of the gateway itself: a cancellation, or a credential test, which has no agent. */
export type SystemExchange = Received & { readonly system: SystemOrder }
export type SystemRead = SystemExchange & HasSnapshot & HasRequest
export type SystemDecided = SystemRead & HasDecision

/** A request of an agent or of the gateway whose head was parsed. */
export type Parsed = Loaded & HasRequest
/** The credentials are replaced. `outbound` is the head to send. */
export type Cleared = Evaluated & HasOutbound
export type SystemCleared = SystemDecided & HasOutbound
/** The intent is in the journal, so the request may be sent. */
export type Journaled = (Cleared | SystemCleared) & HasIntent
/** The gateway has begun to send the request upstream. */
export type Sent = Journaled & HasSentTime
/** The head of the final response, or of a switch of protocols, has arrived. */
export type Answered = Sent & HasResponseHead
/**
 * The record has its result, or an aggregate record counts the request. Its type is no `Exchange`, so that no stage
 * accepts it and no second result is recorded.
 */
export type Recorded = Omit<Received, 'intent'> & HasRecordId

export function isSystem(exchange: Exchange): exchange is SystemExchange {
  return exchange.system !== undefined
}

export function hasIntent<Phase extends Exchange>(exchange: Phase): exchange is Phase & HasIntent {
  return exchange.intent !== undefined
}

export function isAnswered<Phase extends Exchange>(exchange: Phase): exchange is Phase & HasResponseHead {
  return exchange.answeredAt !== undefined
}

/** The fields of an exchange that only the functions below set. */
type Writable = { -readonly [Field in keyof PhaseFields]: Exchange[Field] }
type PhaseFields = Pick<
  Exchange,
  | 'services'
  | 'snapshot'
  | 'agent'
  | 'read'
  | 'request'
  | 'losesParameter'
  | 'connector'
  | 'evaluation'
  | 'outbound'
  | 'intent'
  | 'sentAt'
  | 'answeredAt'
>

export function setServices(exchange: Exchange, services: ExchangeServices): Received {
  const fields: Writable = exchange
  fields.services = services
  return exchange as Received
}

/**
 * Sets the snapshot under which the request is evaluated, and discards an outbound head that was built under the
 * previous snapshot.
 */
export function setSnapshot<Phase extends Exchange>(
  exchange: Phase,
  snapshot: Snapshot,
): Phase & HasSnapshot {
  const fields: Writable = exchange
  fields.snapshot = snapshot
  fields.outbound = undefined
  return exchange as Phase & HasSnapshot
}

/** Sets the agent, and discards the previous evaluation. */
export function setAgent<Phase extends Exchange>(exchange: Phase, agent: AgentEntry): Phase & HasAgent {
  const fields: Writable = exchange
  fields.agent = agent
  fields.evaluation = NOT_EVALUATED
  return exchange as Phase & HasAgent
}

/**
 * Sets the request as parsed. The parsed request is also the evaluated one, until `setConnector` removes credentials
 * from its query.
 */
export function setRequest<Phase extends Exchange>(
  exchange: Phase,
  read: CanonicalRequest,
): Phase & HasRequest {
  const fields: Writable = exchange
  fields.read = read
  fields.request = read
  return exchange as Phase & HasRequest
}

/** Sets the connector that owns the host, if there is one, and the request without credentials in its query. */
export function setConnector(
  exchange: Parsed,
  connector: BoundConnector | undefined,
  { request, losesOther }: { readonly request: CanonicalRequest; readonly losesOther: boolean },
): void {
  const fields: Writable = exchange
  fields.connector = connector
  fields.request = request
  fields.losesParameter = losesOther
}

/** Begins an evaluation in place of the previous evaluation. */
export function startEvaluation(exchange: Parsed): void {
  const fields: Writable = exchange
  fields.evaluation = new Evaluation()
}

/**
 * Sets the classification of the current evaluation. `provisional` is the classification by the request line; absent
 * when the body was needed.
 */
export function setActions<Phase extends Exchange>(
  exchange: Phase,
  named: Named,
  provisional?: ProvisionalClassification,
): Phase & HasActions {
  exchange.evaluation.named = named
  exchange.evaluation.provisional = provisional
  return exchange as Phase & HasActions
}

/** Sets the decision of the current evaluation. */
export function setDecision<Phase extends Exchange>(
  exchange: Phase,
  decision: Decision,
): Phase & HasDecision {
  exchange.evaluation.decision = decision
  return exchange as Phase & HasDecision
}

/** Sets the request head that is sent upstream. */
export function setOutbound<Phase extends Exchange>(
  exchange: Phase,
  outbound: OutboundEdit,
): Phase & HasOutbound {
  const fields: Writable = exchange
  fields.outbound = outbound
  return exchange as Phase & HasOutbound
}

type RecordIds = Pick<PipelinePorts, 'newId'> & { readonly journal: Pick<JournalPort, 'nextSeq'> }

/** Gives the record its id and sequence number, unless it has them already. */
export function identifyRecord<Phase extends Exchange>(
  exchange: Phase,
  { newId, journal }: RecordIds,
): Phase & HasRecordId {
  exchange.recordId ??= newId('record')
  exchange.intentSeq ??= journal.nextSeq()
  exchange.time ??= new Date(exchange.timeMs).toISOString()
  return exchange as Phase & HasRecordId
}

/** Sets the intent in the journal. */
export function setIntent<Phase extends Exchange & HasRecordId>(
  exchange: Phase,
  intent: OpenIntent,
): Phase & HasIntent {
  const fields: Writable = exchange
  fields.intent = intent
  return exchange as Phase & HasIntent
}

/** Sets the record and the intent of a request that is sent again. Both requests have one record. */
export function keepIntent<Phase extends Exchange>(exchange: Phase, before: HasIntent): Phase & HasIntent {
  exchange.recordId = before.recordId
  exchange.intentSeq = before.intentSeq
  exchange.time = before.time
  return setIntent(exchange as Phase & HasRecordId, before.intent)
}

/** Removes the intent of a request that an aggregate record counts. */
export function dropIntent(exchange: Exchange): void {
  const fields: Writable = exchange
  fields.intent = undefined
}

/** Sets the monotonic time in milliseconds at which the gateway begins to send the request upstream. */
export function setSent<Phase extends Journaled>(exchange: Phase, nowMs: number): Phase & HasSentTime {
  const fields: Writable = exchange
  fields.sentAt = nowMs
  return exchange as Phase & HasSentTime
}

/** Sets the status of the response, and the monotonic time in milliseconds at which its head arrived. */
export function setAnswered<Phase extends Sent>(
  exchange: Phase,
  status: number,
  nowMs: number,
): Phase & HasResponseHead {
  const fields: Writable = exchange
  fields.answeredAt = nowMs
  exchange.outcome.status = status
  exchange.outcome.errorType = errorTypeOf(status)
  return exchange as Phase & HasResponseHead
}

/** Returns the error type for metrics: `401`, `429`, or `500` for any 5xx. Returns null for other statuses. */
export function errorTypeOf(status: number): string | null {
  if (status === 401 || status === 429) return String(status)
  return status >= 500 ? '500' : null
}

/** Closes the intent of an exchange whose result is recorded. */
export function setRecorded(exchange: Received & HasRecordId): Recorded {
  dropIntent(exchange)
  return exchange
}
