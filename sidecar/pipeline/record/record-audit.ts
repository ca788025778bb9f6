import type { Action, Parameters } from '../../../core/action/action.ts'
import { scoreRisk } from '../../../core/action/risk.ts'
import { canonicalTarget } from '../../../core/connectors/binding/canonical-target.ts'
import { effectDetails } from '../../../core/connectors/effects/effects.ts'
import {
  type MatchedDetails,
  matchedDetails,
  percent,
  requestedDetails,
} from '../../../core/decision/audit-details.ts'
import type { DecisionInput } from '../../../core/decision/decision.ts'
import { placedInputs, shownEnvironment } from '../../../core/decision/facts/environment.ts'
import { killReason } from '../../../core/decision/kill-switch/kill-switch.ts'
import { proxiedInputs } from '../../../core/decision/proxied.ts'
import type { RecordAudit } from '../../../core/record.ts'
import { storableForm, storableText } from '../../../core/storable.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import { primaryAction } from '../classification/primary-action.ts'
import type { Exchange } from '../exchange.ts'
import { killedBy } from '../exchange-abort.ts'
import type { DenyReason } from '../outcome.ts'

/**
 * Returns the data of the audit events of a refused or killed exchange. Returns null for other exchanges, so that
 * records of allowed traffic stay small. Also returns null for an action that the control plane ordered, because the
 * control plane writes the audit events of such an action.
 */
export function auditOf(exchange: Exchange): RecordAudit | null {
  if (exchange.actId === undefined || exchange.transport === 'order') return null
  const { outcome } = exchange
  const kill = killedBy(exchange)
  if (outcome.denyReason === null && kill === null) return null
  const reason = outcome.denyReason === null && kill !== null ? killReason(kill) : (outcome.reason ?? '')
  return { ...asked(exchange), reason: storableText(reason), ...matched(exchange) }
}

/**
 * Reasons of refusals with an audit event: decisions about an action, and the kill switch. Other refusals are recorded
 * as traffic only, because they judge no action: unreadable requests, inactive agents, rate limits, and a gateway that
 * is not ready.
 */
const EVENTFUL: ReadonlySet<DenyReason | null> = new Set<DenyReason>([
  'permission',
  'policy',
  'policy_invalid',
  'kill_switch',
  'unknown_host',
  'approval_denied',
  'approval_expired',
  'approval_void',
  'address',
  'credential',
])

/** Returns true when the exchange gets an action id and audit events. A held exchange already has an action id. */
export function isEventful(exchange: Exchange): boolean {
  // Requests of the gateway itself are not actions of the agent.
  if (exchange.system !== undefined) return false
  return EVENTFUL.has(exchange.outcome.denyReason) || killedBy(exchange) !== null
}

/** Reasons of refusals that are decisions of a rule. Other refusals name no rule. */
const BY_RULE: ReadonlySet<DenyReason | null> = new Set<DenyReason>([
  'permission',
  'policy',
  'policy_invalid',
  'approval_denied',
  'approval_expired',
  'approval_void',
])

function matched({ outcome, decision }: Exchange): MatchedDetails {
  return BY_RULE.has(outcome.denyReason) && decision !== undefined ? matchedDetails(decision) : NO_RULE
}

const NO_RULE: MatchedDetails = { matched_policy: null, matched_rule: null }

const MAX_TARGET = 2_000

type Asked = Pick<RecordAudit, 'requested' | 'risk_score'>

function asked(exchange: Exchange): Asked {
  const input = primaryInput(exchange)
  if (input === null) return unnamed(exchange)
  const riskScore = exchange.decision?.riskScore ?? highestRisk(input)
  const facts = { environment: shownEnvironment(input), riskScore, sha256: sha256Hex }
  const { action_type: _type, ...requested } = requestedDetails(storable(exchange, input.action), facts)
  return { requested, risk_score: percent(riskScore) }
}

/**
 * Returns the risk score of an action that has no decision, because a kill switch covers it. If the environment of the
 * action is ambiguous, the highest score applies.
 */
function highestRisk(input: DecisionInput): number {
  const scores = placedInputs(input).map(({ action, isProduction }) => scoreRisk(action, isProduction).score)
  return Math.max(...scores)
}

/** Returns the facts of the action that represents the exchange; null when there is none. */
export function primaryInput(exchange: Exchange): DecisionInput | null {
  const action = primaryAction(exchange)
  const { snapshot, agent, connector: bound, request, timeMs: nowMs } = exchange
  if (action === undefined || snapshot === undefined || agent === undefined) return null
  if (bound === undefined || request === undefined) return null
  return proxiedInputs({ snapshot, agent, bound, request, nowMs }, [action]).inputs[0] ?? null
}

/** Returns audit details without an action: for a host that no connector owns, or an unreadable request. */
function unnamed({ connector, request, snapshot }: Exchange): Asked {
  const resource = {
    provider: connector?.connector.name ?? null,
    target: request === undefined ? null : storableText(request.host).slice(0, MAX_TARGET),
    environment: snapshot?.gateway.environment ?? null,
  }
  return { requested: { resource, parameters: {}, risk_score: null, risk_hints: {} }, risk_score: null }
}

function storable(exchange: Exchange, action: Action): Action {
  const { target } = action.resource
  const shown = target === undefined ? {} : { target: storableText(target).slice(0, MAX_TARGET) }
  return {
    ...action,
    resource: { ...action.resource, ...shown },
    parameters: storableForm(parametersOf(exchange, action)),
  }
}

/**
 * Returns the parameters that the record shows. For several actions, returns each action in full, as the approval
 * card does. Parameters contain no credential of the agent: the gateway classifies requests without their
 * credentials, and no row declares a field that carries a credential.
 */
function parametersOf({ actions = [], named }: Exchange, action: Action): Parameters {
  if (actions.length < 2 || named?.kind === 'candidates') return action.parameters
  return {
    actions: actions.map((listed) => ({
      type: listed.type,
      target: canonicalTarget(listed.connector, listed.resource) ?? null,
      ...effectDetails(listed),
      parameters: listed.parameters,
    })),
  }
}
