import type { Action } from '../../action/action.ts'
import type { EffectClass } from '../../action/effect-class.ts'
import { isRefusal } from '../../request/canonical.ts'
import type { LookUpAnswer } from '../binding/look-up.ts'
import type { Classification } from '../connector.ts'
import { type AgentTriggers, startsAgent } from '../effects/fields/agent-triggers.ts'
import { valuesOf } from '../effects/fields/field-rule.ts'
import { NODE } from './node-look-up.ts'

/** Name of the look-up that resolves the id of a label or an account. */
export const AGENT_NAME = 'agent_name'

const EFFECT: EffectClass = 'delegate'

/** Actions of GraphQL mutations whose labels and accounts may start an agent. */
const ACTIONS: ReadonlySet<string> = new Set([
  ...['codehost.issue.create', 'codehost.issue.update', 'codehost.issue.close'],
  ...['codehost.pr.create', 'codehost.pr.update', 'codehost.pr.close', 'codehost.pr_reviewer.request'],
  ...['codehost.issue_label.add', 'codehost.issue_assignee.add'],
])

/** Parameters of GraphQL mutations with ids of labels or accounts, under their GraphQL and their REST names. */
const FIELDS = ['labels', 'labelIds', 'assignees', 'assigneeIds', 'userIds', 'botIds'] as const

/**
 * Adds `delegate` as a possible effect class to the actions of a GraphQL request that name labels or accounts by ids,
 * because an id does not show whether it belongs to an agent.
 */
export function withAgentsById(named: Classification): Classification {
  if (isRefusal(named) || named.kind === 'candidates') return named
  return { ...named, actions: named.actions.map(withPossibleAgent) }
}

function withPossibleAgent(action: Action): Action {
  const hasIds = ACTIONS.has(action.type) && idsOf(action).length > 0
  return hasIds ? { ...action, possibleEffects: [EFFECT] } : action
}

/** Returns the ids that may be those of agents; empty if the action has no possible effect class. */
export function agentIds(action: Action): readonly unknown[] {
  return isOpen(action) ? idsOf(action) : []
}

function isOpen({ possibleEffects }: Action): boolean {
  return possibleEffects?.includes(EFFECT) === true
}

function idsOf({ parameters }: Action): readonly unknown[] {
  return FIELDS.flatMap((field) => valuesOf(parameters[field]))
}

/**
 * Replaces the possible effect class `delegate` by the results of the look-ups of ids (`answers`). If a name belongs to
 * an agent, or if the name of an id is unknown, `delegate` becomes an effect class of the action. Otherwise the
 * possible class is removed.
 */
export function withAgentNames(
  action: Action,
  answers: readonly LookUpAnswer[],
  triggers: AgentTriggers | undefined,
): Action {
  if (!isOpen(action)) return action
  const { possibleEffects: _possible, ...rest } = action
  const names = answers.map(({ values }) => (values === null ? undefined : NODE.nameOf(values)))
  const isKnown = names.length > 0 && names.every((name) => typeof name === 'string')
  const isAgent = startsAgent({ labels: names, assignees: names }, triggers)
  if (isKnown && !isAgent) return rest
  const nameReason = isAgent ? REASON.certain : REASON.unanswered
  return { ...rest, effects: [...(rest.effects ?? []), EFFECT], nameReason }
}

const REASON = {
  certain: 'A label or an account in the request starts an agent at the provider.',
  unanswered:
    'A label or an account in the request may start an agent at the provider, because the look-up of the label or account failed.',
} as const
