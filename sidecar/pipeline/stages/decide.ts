import { isBeside } from '../../../core/action/action.ts'
import { lostParameter } from '../../../core/connectors/credentials/query-credentials.ts'
import type { Decision } from '../../../core/decision/decision.ts'
import { withCredential } from '../../../core/decision/proxied.ts'
import { type Refusal, refusal } from '../../../core/request/canonical.ts'
import { type LeaseStep, leaseForbids } from '../../../core/state/lease.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { decideNow } from '../classification/exchange-decision.ts'
import { type Classified, type Decided, setDecision } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { deny } from '../refusal/deny.ts'
import { refuseKilled, refuseReading } from '../refusal/refuse.ts'
import type { Stage, StageResult } from '../stage.ts'
import { matchingKill, refuseLost } from './guards.ts'

/**
 * Creates the stage that decides. Besides the rules, the decision takes into account the lease of the gateway, and
 * whether the connector has a credential.
 */
export function createDecide(ports: PipelinePorts): Stage<Classified, Decided> {
  return {
    name: 'decide',
    run: (exchange) => decide(exchange, ports),
  }
}

function decide(exchange: Classified, ports: PipelinePorts): StageResult<Decided> {
  const kill = killByReach(exchange, ports)
  if (kill !== null) return refuseKilled(exchange, kill)
  const tooMany = judgeActionCount(exchange)
  if (tooMany !== null) return refuseReading(exchange, tooMany)
  const decision = decideOrdered(exchange, exchange.decision ?? decideNow(exchange, ports.clock.nowMs()))
  setDecision(exchange, decision)
  if (decision.verdict === 'hold') exchange.actId ??= ports.newId('actionRequest')
  if (decision.verdict === 'deny') return deny(exchange, decision)
  const lost = judgeLostParameter(exchange)
  if (lost !== null) return refuseReading(exchange, lost)
  if (isForbidden(exchange, decision, ports.lease.step())) return refuseLost(exchange)
  const complete = withOurs(exchange, decision)
  const decided = setDecision(exchange, complete)
  return complete.verdict === 'deny' ? deny(exchange, complete) : decided
}

/**
 * Returns the kill switch for a Connector whose host the provider would reach, or null. The classification determines
 * these hosts. For other requests, a guard has compared the kill switches before the classification.
 */
function killByReach(exchange: Classified, ports: PipelinePorts): KillEntry | null {
  const isReaching = exchange.actions.some(({ byProvider }) => byProvider !== undefined)
  return isReaching ? matchingKill(exchange, ports) : null
}

/**
 * Denies a request whose action differs from the action that the control plane ordered. Actions that the request
 * performs in addition (`isBeside`) are not compared. Returns any other decision unchanged.
 */
function decideOrdered({ order, actions }: Classified, decision: Decision): Decision {
  if (order === undefined || decision.verdict === 'deny') return decision
  const other = actions.find((action) => !isBeside(action) && action.type !== order.actionType)
  if (other === undefined) return decision
  const reason = `The action was submitted as ${order.actionType}, but its parameters describe the action ${other.type}. Submit it as ${other.type}, or correct the parameters.`
  return { ...decision, verdict: 'deny', would: 'deny', reason }
}

/** Refuses a request with too many actions, because the rate limit counts only requests. */
function judgeActionCount({ named, snapshot }: Classified): Refusal | null {
  const actions = named.kind === 'actions' ? named.actions : []
  const limit = snapshot.gateway.maxActionsPerRequest ?? Number.POSITIVE_INFINITY
  if (actions.length <= limit) return null
  // All answers of the agent to approval questions of the provider count as one action, because an agent that sends the
  // full conversation repeats its earlier answers.
  const answers = actions.filter(({ byProvider }) => byProvider?.kind === 'hosted_approval.answer').length
  const count = actions.length - Math.max(0, answers - 1)
  if (count <= limit) return null
  const detail = `The request contains ${count} actions, but the Gateway allows at most ${limit} in one request (spec.maxActionsPerRequest). Send the actions in several requests.`
  return refusal('too_many_actions', detail)
}

/**
 * Refuses a write when the removal of credentials also removed another query parameter, because the write could then
 * act on another target.
 */
function judgeLostParameter({ losesParameter, connector, actions }: Classified): Refusal | null {
  return losesParameter && actions.some(({ effect }) => effect === 'write') ? lostParameter(connector) : null
}

function isForbidden(exchange: Classified, decision: Decision, step: LeaseStep): boolean {
  if (step === 'ok') return false
  const needsHold = decision.verdict === 'hold'
  return exchange.actions.some((action) => leaseForbids(step, action, needsHold))
}

/**
 * Denies a request when the connector has no credential to inject. A tunnel needs none, because it carries the agent's
 * own credential.
 */
function withOurs(exchange: Classified, decision: Decision): Decision {
  const { connector, snapshot, kind } = exchange
  return kind === 'tunnel' ? decision : withCredential(decision, connector, snapshot)
}
