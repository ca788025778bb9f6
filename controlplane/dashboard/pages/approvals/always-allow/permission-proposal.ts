import type { ConnectorTypeName } from '../../../../../core/wire/connectors.ts'
import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'

export type Reach = 'this_agent' | 'every_agent'
export type Width = 'this_action' | 'this_resource'

export type Proposal = {
  readonly gateway_name: string
  readonly connector_type: ConnectorTypeName
  readonly action_pattern: string
  readonly decision: 'allow'
  readonly agent?: string
}

/** Returns the permission that allows future requests with the action of the card. */
export function proposalFor(
  card: Pick<ApprovalCard, 'action_type' | 'agent'>,
  gateway: string,
  choice: { readonly reach: Reach; readonly width: Width },
): Proposal {
  const base = {
    gateway_name: gateway,
    // The prefix is not checked here, because the API rejects a prefix that is not a connector type.
    connector_type: card.action_type.split('.')[0] as ConnectorTypeName,
    action_pattern: patternOf(card.action_type, choice.width),
    decision: 'allow',
  } as const
  return choice.reach === 'every_agent' ? base : { ...base, agent: card.agent }
}

/**
 * Returns the action type itself; for the width `this_resource`, returns the pattern of all actions of the resource,
 * such as `codehost.pr.*`.
 */
export function patternOf(actionType: string, width: Width): string {
  const lastDot = actionType.lastIndexOf('.')
  return width === 'this_action' || lastDot === -1 ? actionType : `${actionType.slice(0, lastDot)}.*`
}

/** Formats the proposed permission as a manifest. */
export function manifestOf(proposal: Proposal): string {
  const { gateway_name, connector_type, action_pattern, decision, agent = '*' } = proposal
  return [
    'apiVersion: chaperone.dev/v1alpha1',
    'kind: Permission',
    'metadata:',
    `  name: ${resourceName(agent, action_pattern)}`,
    'spec:',
    `  gateway: ${quoted(gateway_name.split('/').at(-1) ?? gateway_name)}`,
    `  agents: [${quoted(agent)}]`,
    '  rules:',
    `    - connectorType: ${connector_type}`,
    `      actionPattern: ${quoted(action_pattern)}`,
    `      decision: ${decision}`,
  ].join('\n')
}

function resourceName(agent: string, pattern: string): string {
  const text = `allow-${agent === '*' ? 'all' : agent}-${pattern}`.toLowerCase()
  return text
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 63)
}

function quoted(text: string): string {
  return /^[A-Za-z][A-Za-z0-9._/-]*$/.test(text) ? text : JSON.stringify(text)
}

/**
 * Returns the policy rule that requires the approval; null if a permission requires it. The card of a held request
 * names the policy and the rule (`policy: rule`). The card of a submitted action names only the rule. When a
 * permission requires the approval, the card names the pattern of the permission, and the pattern matches the action.
 */
export function policyBehind({
  matched_rule: rule,
  action_type: type,
}: Pick<ApprovalCard, 'matched_rule' | 'action_type'>): string | null {
  if (rule === null) return null
  const isPattern = rule.endsWith('*') ? type.startsWith(rule.slice(0, -1)) : rule === type
  return isPattern ? null : rule
}
