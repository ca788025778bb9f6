import type { Decision, MatchedRule } from './decision.ts'
import { type RequiredGroups, uniqueRequired } from './policies/required-groups.ts'
import { strictest, strictness } from './vocabulary.ts'

/**
 * Combines the decisions about the candidates of a request whose body determines the action. Returns `split` if the
 * candidates do not all have the same decision (allow, hold or deny) and, for a hold, the same approvers. The gateway
 * must then read the body.
 */
export function combineCandidates(decisions: readonly Decision[]): Decision | 'split' {
  const [first] = decisions
  if (first === undefined) return NOTHING
  const isSame = decisions.every((other) => other.verdict === first.verdict && isSameAudience(other, first))
  return isSame ? decisions.reduce(stricter) : 'split'
}

/**
 * Returns the strictest decision about several actions. Exactly one of the actions happens, and only the server
 * determines which one.
 */
export function combineUnknown(decisions: readonly Decision[]): Decision {
  const [first] = decisions
  if (first === undefined || decisions.length === 1) return first ?? NOTHING
  const types = decisions.map(({ actionType = '' }) => actionType)
  const decisive = decisions.reduce(stricter)
  const reason = `${decisive.reason} The request may be any of ${types.join(', ')}; the strictest decision is the one for ${decisive.actionType}.`
  return { ...together(decisive, decisions), reason }
}

/**
 * Returns the decision about announced actions, which later requests perform: deny if every action is denied, else
 * allow. The gateway decides each action again when the request that performs it arrives.
 */
export function combineAnnounced(decisions: readonly Decision[]): Decision {
  const [first] = decisions
  if (first === undefined) return NOTHING
  const mildest = decisions.reduce((a, b) => (stricter(b, a) === b ? a : b))
  if (mildest.verdict === 'deny') return first
  const would = decisions.every((one) => one.would === 'deny') ? 'deny' : 'allow'
  const isHeld = mildest.verdict === 'hold'
  const reason = isHeld
    ? `The request changes nothing yet; the action that it announces requires approval. ${mildest.reason}`
    : mildest.reason
  return { ...mildest, verdict: 'allow', would, reason, requiredGroups: [] }
}

const NOTHING: Decision = {
  verdict: 'deny',
  would: 'deny',
  reason: 'The request contains no action to decide. Send a request with an action.',
  source: 'default',
  permission: null,
  permissionPattern: null,
  policies: [],
  rules: [],
  riskScore: 1,
  riskFactors: ['nothing known +1'],
  requiredGroups: [],
}

/**
 * Returns the strictest of several decisions, with the name of its action. `types[i]` is the action of `decisions[i]`.
 */
export function combineAll(types: readonly string[], decisions: readonly Decision[]): Decision {
  const [first] = decisions
  if (first === undefined) return NOTHING
  if (decisions.length === 1) return first
  const decisive = decisions.reduce(stricter)
  const place = decisions.indexOf(decisive)
  const reason = `${decisive.reason} Action ${place + 1} of ${decisions.length} (${types[place]}) determines the decision on the request.`
  return { ...together(decisive, decisions), reason }
}

/**
 * Returns the strictest decision about one action in several environments. `environments[i]` belongs to
 * `decisions[i]`. The first environment is the installation's; the caller claims the others. The reason states if a
 * claimed environment decides.
 */
export function combineReadings(environments: readonly string[], decisions: readonly Decision[]): Decision {
  const [first] = decisions
  if (first === undefined) return NOTHING
  if (decisions.length === 1) return first
  const decisive = decisions.reduce((a, b) => (strictness(b.verdict) > strictness(a.verdict) ? b : a))
  const agreeing = decisions.filter(({ verdict }) => verdict === decisive.verdict)
  const would = decisions.map((each) => each.would).reduce(strictest)
  const risk = riskiest(decisions)
  const all = { ...together(decisive, agreeing), ...risk, would }
  if (decisive === first) return all
  const [installed = ''] = environments
  const claimed = environments[decisions.indexOf(decisive)] ?? ''
  const claim = claimed === installed ? 'a production target' : `the environment ${JSON.stringify(claimed)}`
  return {
    ...all,
    reason: `${decisive.reason} The caller stated ${claim}, for which the decision is stricter than for the environment "${installed}" of the installation.`,
  }
}

/**
 * Returns the stricter decision about one action under two readings of its query string, because servers parse query
 * strings differently.
 */
export function combineQueries(first: Decision, other: Decision): Decision {
  const isOther = strictness(other.verdict) > strictness(first.verdict)
  const decisive = isOther ? other : first
  const agreeing = first.verdict === other.verdict ? [first, other] : [decisive]
  const would = strictest(first.would, other.would)
  const all = { ...together(decisive, agreeing), ...riskiest([first, other]), would }
  return isOther
    ? {
        ...all,
        reason: `${decisive.reason} Servers differ in how they read the query, so the reading with the stricter decision counts.`,
      }
    : all
}

/**
 * Returns the strictest decision about one action that may go to several connectors. `names[i]` is the connector of
 * `decisions[i]`. The reason names the connector that decides.
 */
export function combineConnectors(names: readonly string[], decisions: readonly Decision[]): Decision {
  const [first] = decisions
  if (first === undefined || decisions.length === 1) return first ?? NOTHING
  const decisive = decisions.reduce(stricter)
  const name = names[decisions.indexOf(decisive)]
  const agreeing = decisions.filter(({ verdict }) => verdict === decisive.verdict)
  const reason = `${decisive.reason} The request may go to any of ${names.length} connectors, of which connector "${name}" has the strictest decision.`
  return { ...together(decisive, agreeing), reason }
}

/**
 * Combines the decision about an action that the provider performs with the decision about the host that the provider
 * connects to (`reach`). `reach` is undefined if the host needs no decision.
 */
export function withReach(decision: Decision, reach: Decision | undefined): Decision {
  if (reach === undefined) return decision
  const isStricter = strictness(reach.verdict) > strictness(decision.verdict)
  const would = strictest(decision.would, reach.would)
  const isShown = isStricter || strictness(reach.would) > strictness(decision.would)
  if (!isShown) return { ...decision, would }
  const { verdict, reason, source } = reach
  return {
    ...decision,
    verdict: isStricter ? verdict : decision.verdict,
    would,
    reason,
    source,
    remedy: undefined,
    decisive: undefined,
    requiredGroups: isStricter ? [] : decision.requiredGroups,
  }
}

function riskiest(decisions: readonly Decision[]): Pick<Decision, 'riskScore' | 'riskFactors'> {
  const { riskScore, riskFactors } = decisions.reduce((a, b) => (b.riskScore > a.riskScore ? b : a))
  return { riskScore, riskFactors }
}

/**
 * Returns `decisive` with the policies, rules and highest risk of all decisions. If `decisive` is a hold, the result
 * requires the approver groups of all holds.
 */
function together(decisive: Decision, decisions: readonly Decision[]): Decision {
  const inOrder = [decisive, ...decisions]
  return {
    ...decisive,
    would: decisions.map(({ would }) => would).reduce(strictest),
    policies: [...new Set(inOrder.flatMap(({ policies }) => policies))],
    rules: distinctRules(inOrder.flatMap(({ rules }) => rules)),
    ...riskiest(decisions),
    requiredGroups: audience(decisive, decisions),
  }
}

function audience(decisive: Decision, decisions: readonly Decision[]): readonly RequiredGroups[] {
  if (decisive.verdict !== 'hold') return decisive.requiredGroups
  const holding = decisions.filter(({ verdict }) => verdict === 'hold')
  return uniqueRequired(holding.flatMap(({ requiredGroups }) => requiredGroups))
}

/**
 * Returns the stricter of two decisions: by the decision that applies, then by the decision under full enforcement,
 * then by risk. If both are equally strict, returns the first.
 */
function stricter(a: Decision, b: Decision): Decision {
  const difference =
    strictness(b.verdict) - strictness(a.verdict) ||
    strictness(b.would) - strictness(a.would) ||
    b.riskScore - a.riskScore
  return difference > 0 ? b : a
}

function isSameAudience(a: Decision, b: Decision): boolean {
  return a.verdict !== 'hold' || JSON.stringify(a.requiredGroups) === JSON.stringify(b.requiredGroups)
}

function distinctRules(rules: readonly MatchedRule[]): readonly MatchedRule[] {
  return [...new Map(rules.map((rule) => [`${rule.policyId}\n${rule.rule}`, rule])).values()]
}
