import { lostParameter } from '../../../core/connectors/credentials/query-credentials.ts'
import type { Decision } from '../../../core/decision/decision.ts'
import { withCredential } from '../../../core/decision/proxied.ts'
import { type Refusal, refusal } from '../../../core/request/canonical.ts'
import { type LeaseStep, leaseForbids } from '../../../core/state/lease.ts'
import { decideNow } from '../classification/exchange-decision.ts'
import { decideOrdered } from '../classification/ordered-action.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'
import { deny } from '../refusal/deny.ts'
import { refuseReading } from '../refusal/refuse.ts'
import { refuseLost } from './guards.ts'

/**
 * Creates the stage that decides. Besides the rules, the decision takes into account the lease of the gateway, and
 * whether the connector has a credential.
 */
export function createDecide(ports: PipelinePorts): Stage {
  return {
    name: 'decide',
    // For a host without a connector, the `route` stage has already decided.
    run: (exchange) => (exchange.connector === undefined ? 'continue' : decide(exchange, ports)),
  }
}

function decide(exchange: Exchange, ports: PipelinePorts): StageResult {
  const tooMany = judgeActionCount(exchange)
  if (tooMany !== null) return refuseReading(exchange, tooMany)
  const decision = decideOrdered(exchange, exchange.decision ?? decideNow(exchange, ports.clock.nowMs()))
  const { evaluation } = exchange
  evaluation.decision = decision
  if (decision.verdict === 'hold') exchange.actId ??= ports.newId('actionRequest')
  if (decision.verdict === 'deny') return deny(exchange, decision)
  const lost = judgeLostParameter(exchange)
  if (lost !== null) return refuseReading(exchange, lost)
  if (isForbidden(exchange, decision, ports.lease.step())) return refuseLost(exchange)
  const complete = withOurs(exchange, decision)
  evaluation.decision = complete
  return complete.verdict === 'deny' ? deny(exchange, complete) : 'continue'
}

/** Refuses a request with too many actions, because the rate limit counts only requests. */
function judgeActionCount({ named, snapshot }: Exchange): Refusal | null {
  const count = named?.kind === 'actions' ? named.actions.length : 0
  const limit = snapshot?.gateway.maxActionsPerRequest ?? Number.POSITIVE_INFINITY
  if (count <= limit) return null
  const detail = `The request contains ${count} actions, but the Gateway allows at most ${limit} in one request (spec.maxActionsPerRequest). Send the actions in several requests.`
  return refusal('too_many_actions', detail)
}

/**
 * Refuses a write whose query lost a parameter with the removal of credentials, because it would act on another target.
 */
function judgeLostParameter({ losesParameter, connector, actions = [] }: Exchange): Refusal | null {
  if (!losesParameter || connector === undefined) return null
  return actions.some(({ effect }) => effect === 'write') ? lostParameter(connector) : null
}

function isForbidden(exchange: Exchange, decision: Decision, step: LeaseStep): boolean {
  if (step === 'ok') return false
  const needsHold = decision.verdict === 'hold'
  return exchange.actions?.some((action) => leaseForbids(step, action, needsHold)) === true
}

/**
 * Denies a request when the connector has no credential to inject. A tunnel needs none, because it carries the agent's
 * own credential.
 */
function withOurs(exchange: Exchange, decision: Decision): Decision {
  const { connector, snapshot, kind } = exchange
  if (kind === 'tunnel' || connector === undefined || snapshot === undefined) return decision
  return withCredential(decision, connector, snapshot)
}
