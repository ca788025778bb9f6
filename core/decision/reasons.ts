import type { DecisionInput } from './decision.ts'
import type { Judgement } from './judgement.ts'
import type { PermissionMatch } from './permissions/permission-index.ts'
import type { Opinion } from './policies/policy-opinion.ts'
import type { Verdict } from './vocabulary.ts'

/** Reason of a v1 decision if no policy or permission matches (spec 4.3). */
const NO_MATCH = 'No policy matched'

const DOES: Readonly<Record<Verdict, string>> = {
  allow: 'allows',
  hold: 'requires approval for',
  deny: 'denies',
}
const WOULD: Readonly<Record<Verdict, string>> = { allow: 'allow', hold: 'hold', deny: 'deny' }

/** Returns the reason of the decision in full sentences. */
export function reasonOf(judgement: Judgement, input: DecisionInput): string {
  const { nameReason } = input.action
  const reason = rulesReason(judgement, input)
  return nameReason === undefined ? reason : `${reason} ${nameReason}`
}

function rulesReason(judgement: Judgement, input: DecisionInput): string {
  const { source, permission, policy, verdict } = judgement
  if (judgement.isSilent) return NO_MATCH
  const { type } = input.action
  const isByPolicy = source === 'policy' || source === 'policy_invalid'
  if (isByPolicy && policy.decisive !== null) return policyReason(policy.decisive, type)
  if (source === 'permission' && permission !== null) {
    const agreeing = judgement.isByPolicy && policy.decisive !== null && verdict !== 'allow'
    const also = agreeing && policy.decisive !== null ? ` ${policyReason(policy.decisive, type)}` : ''
    return permissionReason(permission, verdict, type) + also
  }
  return defaultReason(judgement, input)
}

function policyReason({ policy, rule, error }: Opinion, type: string): string {
  if (policy.invalid !== null) return invalidReason(policy, type)
  const head = `${kindOf(policy)} "${policy.name}", rule "${rule.name}", ${DOES[rule.verdict]} ${type}.`
  const cause = error === null ? '' : ` The rule applies because ${sentence(error)}`
  return withOwn(rule.reason, head) + cause
}

/**
 * Returns the term for a policy in a reason. The term marks policies of the platform team, which tenants cannot change.
 */
function kindOf({ tier }: Opinion['policy']): string {
  return tier === 'platform' ? 'Platform policy' : 'Policy'
}

function invalidReason(policy: Opinion['policy'], type: string): string {
  const head = `${kindOf(policy)} "${policy.name}" is invalid and was never in force, so everything in its scope is denied, including ${type} (policy_invalid)`
  return `${head}. ${sentence(policy.invalid ?? '')}`
}

function permissionReason(permission: PermissionMatch, verdict: Verdict, type: string): string {
  return withOwn(permission.reason, `${permissionName(permission)} ${DOES[verdict]} ${type}.`)
}

/**
 * Returns the name of a permission for a reason: the name of its manifest, else its pattern, because a permission
 * without a manifest has no name. Includes the prefix of the permission's agents, if there is one.
 */
function permissionName({ manifest, pattern, agent }: PermissionMatch): string {
  if (manifest === null) return `Permission "${pattern}"${agentsText(agent)}`
  const isPrefix = agent.endsWith('*') && agent !== '*' && !agent.endsWith('/*')
  return `Permission "${manifest}", rule "${pattern}"${isPrefix ? agentsText(agent) : ''},`
}

function agentsText(agent: string): string {
  if (agent === '*') return ''
  return agent.endsWith('*') ? ` for agents "${agent}"` : ` for agent "${agent}"`
}

/** Returns the reason, beginning with the rule author's own sentence, because clients truncate long texts. */
function withOwn(own: string | null, head: string): string {
  return own === null ? head : `${sentence(own)} ${head}`
}

function defaultReason({ verdict }: Judgement, { action, agent }: DecisionInput): string {
  const head = `No permission matches ${action.type} for agent "${agent.name}"`
  if (verdict === 'allow') return `${head}; the gateway's default allows it.`
  if (verdict === 'hold') return `${head}, so the gateway's default requires approval.`
  return `${head}, so the gateway's default denies it.`
}

/**
 * Returns the instruction for rule authors on how to permit a denied action; undefined if the action is not denied, or
 * if neither a permission nor a policy matched a v1 action.
 */
export function remedyOf(judgement: Judgement, { action }: DecisionInput): string | undefined {
  const { source, permission, policy, verdict } = judgement
  if (verdict !== 'deny' || judgement.isSilent) return undefined
  const { decisive } = policy
  if (source === 'permission' && permission !== null) return permissionRemedy(permission)
  if ((source === 'policy' || source === 'policy_invalid') && decisive !== null) return policyRemedy(decisive)
  return `Add a permission for "${action.type}" with the decision allow.`
}

/**
 * Returns the instruction on how to change a permission that denies an action. A permission for the name of an action
 * does not override a permission for an effect class, however specific the name is.
 */
function permissionRemedy({ id, manifest, pattern, agent }: PermissionMatch): string {
  const name = manifest === null ? `that permission (${id})` : `that rule of Permission "${manifest}"`
  if (!pattern.startsWith('effect:')) return `Change ${name} or add a more specific one.`
  const own = agent.endsWith('*') ? `, or add a permission for "${pattern}" and this agent alone` : ''
  return `Change ${name}${own}. A permission for the name of the action does not override it.`
}

function policyRemedy({ policy, error }: Opinion): string {
  if (policy.invalid !== null) return `Correct that policy (${policy.id}).`
  const read =
    error === null
      ? ''
      : ' A condition could not be evaluated. Complete the request, or use another fact in the condition.'
  return `Change that rule (${policy.id}).${read}`
}

/** Returns the reason with a prefix that states how the enforcement level relaxed the decision. */
export function levelReason(level: string, would: Verdict, reason: string): string {
  return `Enforcement level ${level} allows the request; full enforcement would ${WOULD[would]} it. ${reason}`
}

export function shadowReason({ policy, rule }: Opinion): string {
  return `${kindOf(policy)} "${policy.name}", rule "${rule.name}", is in monitor mode and would ${WOULD[rule.verdict]} it.`
}

export function agentReason({ agent }: DecisionInput): string {
  const end = agent.status === 'revoked' ? ', which is permanent' : ''
  return `Agent "${agent.name}" is ${agent.status}${end}.`
}

export function agentRemedy({ agent }: DecisionInput): string {
  if (agent.status === 'revoked') return 'Register a new agent and use its key.'
  return "An admin can activate the agent on the dashboard's agents page."
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
