import type { Action } from '../action/action.ts'
import { effectsOf } from '../connectors/effects/effects.ts'
import { connectorTitle } from '../connectors/registry.ts'
import type { Decision } from './decision.ts'
import { requiredText } from './policies/required-groups.ts'
import { policyLabel } from './policies/rule-label.ts'
import { LOG_DECISION, RULE_DECISION } from './vocabulary.ts'

export type Explained = {
  /** Request as `METHOD host/path`; for an action request to the v1 API, the type of the action. */
  readonly request: string
  readonly agent: string
  /** Name of the connector; null if no connector owns the host. */
  readonly connector: string | null
  readonly action: Action | null
  readonly decision: Decision
  readonly snapshotVersion: number | null
}

/**
 * Explains a decision: the request, the deciding rule, the version of the rules, and how to permit a denied request.
 * The text is for users; a refusal has only the ids of the rules.
 */
export function explainText(given: Explained): string {
  const { request, agent, connector, action, decision } = given
  return [
    ['request', request],
    ['agent', agent],
    ['connector', connectorLine(connector, action)],
    ['action', action === null ? 'none' : actionLine(action, decision)],
    ['permission', permissionLine(decision)],
    ...policyLines(decision),
    ['verdict', verdictLine(decision)],
    ['reason', decision.reason],
    ...(decision.remedy === undefined ? [] : [['to permit', decision.remedy]]),
    ['snapshot', given.snapshotVersion === null ? 'none' : String(given.snapshotVersion)],
  ]
    .map(([label = '', text = '']) => `${label.padEnd(11)} ${oneLine(text)}`)
    .join('\n')
}

function connectorLine(name: string | null, action: Action | null): string {
  if (name === null) return 'no connector owns this host'
  return action === null ? name : `${name}, ${connectorTitle(action.connector)}`
}

function actionLine(action: Action, { riskScore, riskFactors }: Decision): string {
  const classes = effectsOf(action)
  const effects = classes === null ? 'unknown' : classes.join(', ')
  const shown = effects === '' ? '' : `, effects: ${effects}`
  return `${action.type} (${action.effect}, risk ${riskScore}: ${riskFactors.join(', ')}${shown})`
}

function permissionLine({ permission, permissionPattern, permissionManifest }: Decision): string {
  if (permission === null) return 'none matches'
  return `"${permissionPattern}" (${permissionManifest === undefined ? permission : `Permission ${permissionManifest}`})`
}

function policyLines({ rules }: Decision): string[][] {
  if (rules.length === 0) return [['policies', 'none matches']]
  return rules.map((matched) => [
    'policy',
    `"${policyLabel(matched)}", rule "${matched.rule}" (${matched.policyId})`,
  ])
}

function verdictLine({ verdict, would, source, requiredGroups }: Decision): string {
  const shadow = would === verdict ? '' : `, would be ${RULE_DECISION[would]}`
  const required = requiredText(requiredGroups)
  const who = required === '' ? '' : `, approvers: ${required}`
  return `${LOG_DECISION[verdict]} (decided by ${SOURCE[source]}${shadow}${who})`
}

const SOURCE: Readonly<Record<Decision['source'], string>> = {
  kill: 'kill switch',
  agent: 'agent status',
  permission: 'permission',
  policy: 'policy',
  policy_invalid: 'policy_invalid: an invalid policy that was never in force, so its scope is denied',
  default: 'default',
  level: 'enforcement level',
  connector: 'connector without credential',
}

/**
 * Replaces line breaks and control characters with blanks, because agents choose names and paths, and could otherwise
 * forge a line of the text.
 */
function oneLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ')
}
