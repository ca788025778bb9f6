import type { Action } from '../../../core/action/action.ts'
import type { Classification, Named } from '../../../core/connectors/connector.ts'
import { decideAll, decideNamed, judgedActions } from '../../../core/decision/decide.ts'
import type { Decision } from '../../../core/decision/decision.ts'
import type { BodyFact } from '../../../core/decision/facts/request-facts.ts'
import type { CompiledPolicy } from '../../../core/decision/policies/compiled-policy.ts'
import { proxiedInputs } from '../../../core/decision/proxied.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import { bodyQuestions } from '../body/body-facts.ts'
import type { Classified, Governed, Loaded } from '../phases.ts'
import type { CachedDecisions, ProvisionalClassification } from './provisional-classification.ts'

/** Returns the decision about a request whose body was read. The strictest decision applies where candidates remain. */
export function decideWithBody(exchange: Governed, named: Named, nowMs: number): Decision {
  const { rules, inputs } = decisionInputs(exchange, judgedActions(named), nowMs)
  const decision = decideNamed(rules, named, inputs)
  return decision === 'split' ? decideAll(rules, inputs) : decision
}

/**
 * Returns the decision about actions that the request line determines; `split` when the candidates get different
 * decisions. The decision depends on request line, agent and rules only, so it is cached, unless a policy uses the
 * time, a header or the body.
 */
export function decideProvisional(
  exchange: Governed,
  provisional: ProvisionalClassification,
  nowMs: number,
): Decision | 'split' {
  const { isSteady, decisions } = cachedDecisionsFor(provisional, exchange)
  const agent = exchange.agent.name
  const known = decisions.get(agent)
  if (known !== undefined) return known
  const { rules, inputs } = decisionInputs(exchange, judgedActions(provisional.named), nowMs)
  const decision = decideNamed(rules, provisional.named, inputs)
  if (isSteady) decisions.set(agent, decision)
  return decision
}

/**
 * Returns the decision that was made by the request line, if that decision is still valid after the body was read: the
 * decision allows the request, and the body adds no action. If the request line has several candidates, returns the
 * decision about the candidate that the body determined, so that the record names the permission for it. Returns
 * undefined when the request must be decided again.
 */
export function validDecision(
  exchange: Governed,
  provisional: ProvisionalClassification | undefined,
  named: Classification,
  nowMs: number,
): Decision | undefined {
  const { decision } = exchange
  if (decision?.verdict !== 'allow' || hasMore(named)) return undefined
  if (provisional === undefined || provisional.actions.length === 1) return decision
  if (isRefusal(named) || named.kind !== 'actions') return decision
  const [action] = named.actions
  return action && decideCandidate(exchange, provisional, action.type, nowMs)
}

export function hasMore(named: Classification): boolean {
  return named.kind === 'actions' && named.actions.length > 1
}

/**
 * Returns the decision about one candidate of a request line. Returns undefined if the request line has no such
 * candidate, or if rules use more than the request line. The decision is cached like the decision about all candidates.
 */
function decideCandidate(
  exchange: Governed,
  provisional: ProvisionalClassification,
  type: string,
  nowMs: number,
): Decision | undefined {
  const { isSteady, byCandidate } = cachedDecisionsFor(provisional, exchange)
  if (!isSteady) return undefined
  const { name } = exchange.agent
  const known = byCandidate.get(type)?.get(name)
  if (known !== undefined) return known
  const candidate = provisional.actions.find((action) => action.type === type)
  if (candidate === undefined) return undefined
  const { rules, inputs } = decisionInputs(exchange, [candidate], nowMs)
  const decision = decideAll(rules, inputs)
  const decisions = byCandidate.get(type) ?? new Map<string, Decision>()
  byCandidate.set(type, decisions.set(name, decision))
  return decision
}

/** Returns the decision about a request by its current classification, with or without its body. */
export function decideNow(exchange: Classified, nowMs: number): Decision {
  const { provisional, named } = exchange
  const decision = provisional === undefined ? 'split' : decideProvisional(exchange, provisional, nowMs)
  return decision === 'split' ? decideWithBody(exchange, named, nowMs) : decision
}

/** Returns the cached decisions of a provisional classification under the snapshot of the exchange. */
export function cachedDecisionsFor(
  provisional: ProvisionalClassification,
  { snapshot }: Loaded,
): CachedDecisions {
  const known = provisional.cached
  if (known !== null && known.snapshot === snapshot) return known
  const cached = newCachedDecisions(judgedActions(provisional.named), snapshot)
  provisional.cached = cached
  return cached
}

function newCachedDecisions(actions: readonly Action[], snapshot: Snapshot): CachedDecisions {
  return {
    snapshot,
    questions: bodyQuestions(snapshot, actions),
    isSteady: !actions.some(({ type }) => snapshot.policies.matching(type).some(looksBeyondLine)),
    decisions: new Map(),
    byCandidate: new Map(),
  }
}

/**
 * Matches expressions in policy conditions whose value differs between requests with the same request line: the time,
 * headers and body.
 */
const NOT_IN_LINE = /\bnow\b|\brequest\b(?!\.(?:method|host|path|raw_path|segments|query)\b)/

/**
 * Returns true when a policy uses more than the request line. A match inside a string literal has no effect but to
 * prevent caching.
 */
function looksBeyondLine({ rules }: CompiledPolicy): boolean {
  return rules.some(({ conditions }) => conditions.some(({ text }) => NOT_IN_LINE.test(text)))
}

/** Returns the rules and facts for the decision about this exchange's actions. */
function decisionInputs(
  exchange: Governed,
  actions: readonly Action[],
  nowMs: number,
): ReturnType<typeof proxiedInputs> {
  const { snapshot, agent, connector: bound, request } = exchange
  return proxiedInputs({ snapshot, agent, bound, request, body: bodyOf(exchange), nowMs }, actions)
}

function bodyOf({ body, bodyBytes }: Governed): BodyFact {
  if (bodyBytes !== undefined) return bodyBytes.length === 0 ? null : bodyBytes
  return body.isEmpty ? null : 'unread'
}
