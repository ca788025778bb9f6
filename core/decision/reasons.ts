import type { DecisionInput } from './decision.ts'
import type { Judgement } from './judgement.ts'
import type { PermissionMatch } from './permissions.ts'
import type { Opinion } from './policy-opinion.ts'
import type { Verdict } from './vocabulary.ts'

/** Spec 4.3: v1 without any matching policy or permission. */
export const NO_MATCH = 'No policy matched'

const DOES: Readonly<Record<Verdict, string>> = {
  allow: 'allows',
  hold: 'requires approval for',
  deny: 'denies',
}
const WOULD: Readonly<Record<Verdict, string>> = { allow: 'allow', hold: 'hold', deny: 'deny' }

/** Full sentences: what decided, why, and what to change. */
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
  const own = rule.reason === null ? '' : `: ${rule.reason}`
  const head = `${kindOf(policy)} "${policy.name}", rule "${rule.name}", ${DOES[rule.verdict]} ${type}${own}`
  const cause =
    error === null ? '' : ` The rule applies because ${error}; guard it with has() or complete the request.`
  if (rule.verdict !== 'deny') return sentence(head) + cause
  return `${sentence(head)}${cause} To permit it, change that rule (${policy.id}).`
}

/** Whoever reads it has to know whether a tenant or the platform team can change the rule. */
function kindOf({ tier }: Opinion['policy']): string {
  return tier === 'platform' ? 'Platform policy' : 'Policy'
}

function invalidReason(policy: Opinion['policy'], type: string): string {
  const { id, name, invalid } = policy
  const head = `${kindOf(policy)} "${name}" is invalid and was never in force, so everything in its scope is denied, ${type} too (policy_invalid)`
  return `${head}. ${sentence(invalid ?? '')} To permit it, correct that policy (${id}).`
}

function permissionReason(permission: PermissionMatch, verdict: Verdict, type: string): string {
  const whose = permission.agent === '*' ? '' : ` for agent "${permission.agent}"`
  const own = permission.reason === null ? '' : `: ${permission.reason}`
  const head = `Permission "${permission.pattern}"${whose} ${DOES[verdict]} ${type}${own}`
  if (verdict !== 'deny') return sentence(head)
  return `${sentence(head)} To permit it, change that permission (${permission.id}) or add a more specific one.`
}

function defaultReason({ verdict }: Judgement, { action, agent }: DecisionInput): string {
  const head = `No permission matches ${action.type} for agent "${agent.name}"`
  if (verdict === 'allow') return `${head}; the gateway's default allows it.`
  const effect = verdict === 'hold' ? 'requires approval' : 'denies it'
  return `${head}, so the gateway's default ${effect}. To permit it, add a permission for "${action.type}" with the decision allow.`
}

/** Put before the reason when the level let something pass. */
export function levelReason(level: string, would: Verdict, reason: string): string {
  return `Enforcement level ${level} lets it pass; full enforcement would ${WOULD[would]} it. ${reason}`
}

export function shadowReason({ policy, rule }: Opinion): string {
  return `${kindOf(policy)} "${policy.name}", rule "${rule.name}", is in monitor mode and would ${WOULD[rule.verdict]} it.`
}

export function agentReason({ agent }: DecisionInput): string {
  if (agent.status === 'revoked') {
    return `Agent "${agent.name}" is revoked, which is permanent. Register a new agent and use its key.`
  }
  return `Agent "${agent.name}" is ${agent.status}. An admin can activate it on the dashboard's agents page.`
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
