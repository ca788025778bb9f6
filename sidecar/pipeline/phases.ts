import type { Action } from '../../core/action/action.ts'
import type { Named, OutboundEdit } from '../../core/connectors/connector.ts'
import type { BoundConnector } from '../../core/connectors/registry.ts'
import type { Decision } from '../../core/decision/decision.ts'
import type { CanonicalRequest } from '../../core/request/canonical.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { AgentEntry } from '../../core/wire/gateway/sync.ts'
import type { ProvisionalClassification } from './classification/provisional-classification.ts'
import { Evaluation, NOT_EVALUATED } from './evaluation.ts'
import type { Exchange } from './exchange.ts'
import type { OpenIntent } from './ports.ts'
import type { SystemOrder } from './system-order.ts'

/*
 * Phases of a request: an `Exchange` is what a listener received, and each type below also has what is known from its phase
 * on. A stage takes the phase before it and returns the next one, so that the compiler checks the order of the stages.
 * Only the functions below bring an exchange to a phase: they set its values and return the same object.
 */

export type HasSnapshot = { readonly snapshot: Snapshot }
export type HasAgent = { readonly agent: AgentEntry }
/** `read`: the request as parsed. `request`: the request that is evaluated, without credentials in its query. */
export type HasRequest = { readonly read: CanonicalRequest; readonly request: CanonicalRequest }
export type HasConnector = { readonly connector: BoundConnector }
export type HasActions = { readonly named: Named; readonly actions: readonly Action[] }
export type HasDecision = { readonly decision: Decision }
export type HasOutbound = { readonly outbound: OutboundEdit }
export type HasIntent = { readonly intent: OpenIntent }

/** A request under one snapshot. */
export type Loaded = Exchange & HasSnapshot
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

/** A request of the gateway itself: a cancellation or a credential test. It may have no agent. */
export type SystemExchange = Exchange & { readonly system: SystemOrder }
export type SystemRead = SystemExchange & HasSnapshot & HasRequest
export type SystemDecided = SystemRead & HasDecision

/** A request of an agent or of the gateway whose head was parsed. */
export type Parsed = Loaded & HasRequest
/** The credentials are replaced. `outbound` is the head to send. */
export type Cleared = Evaluated & HasOutbound
export type SystemCleared = SystemDecided & HasOutbound
/** The intent is in the journal, so the request may be sent. */
export type Journaled = (Cleared | SystemCleared) & HasIntent

export function isSystem(exchange: Exchange): exchange is SystemExchange {
  return exchange.system !== undefined
}

/** The fields of an exchange that only the functions below set. */
type Writable = { -readonly [Field in keyof PhaseFields]: Exchange[Field] }
type PhaseFields = Pick<
  Exchange,
  | 'snapshot'
  | 'agent'
  | 'read'
  | 'request'
  | 'losesParameter'
  | 'connector'
  | 'evaluation'
  | 'outbound'
  | 'intent'
>

/** Sets the snapshot under which the request is evaluated, and discards a head that was made under the one before. */
export function setSnapshot<Phase extends Exchange>(
  exchange: Phase,
  snapshot: Snapshot,
): Phase & HasSnapshot {
  const fields: Writable = exchange
  fields.snapshot = snapshot
  fields.outbound = undefined
  return exchange as Phase & HasSnapshot
}

/** Sets the agent, and discards an evaluation that was made before. */
export function setAgent<Phase extends Exchange>(exchange: Phase, agent: AgentEntry): Phase & HasAgent {
  const fields: Writable = exchange
  fields.agent = agent
  fields.evaluation = NOT_EVALUATED
  return exchange as Phase & HasAgent
}

/** Sets the request as parsed. It is evaluated as it is, unless a connector owns its host. */
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

/** Begins an evaluation, which replaces the one before as a whole. */
export function startEvaluation(exchange: Parsed): void {
  const fields: Writable = exchange
  fields.evaluation = new Evaluation()
}

/** Sets the classification of the current evaluation. `provisional` is that by the request line, without the body. */
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

/** Sets the head to send. */
export function setOutbound<Phase extends Exchange>(
  exchange: Phase,
  outbound: OutboundEdit,
): Phase & HasOutbound {
  const fields: Writable = exchange
  fields.outbound = outbound
  return exchange as Phase & HasOutbound
}

/** Sets the intent in the journal. */
export function setIntent<Phase extends Exchange>(exchange: Phase, intent: OpenIntent): Phase & HasIntent {
  const fields: Writable = exchange
  fields.intent = intent
  return exchange as Phase & HasIntent
}

/** Removes the intent of a request that an aggregate record counts. */
export function dropIntent(exchange: Exchange): void {
  const fields: Writable = exchange
  fields.intent = undefined
}
