import type { Action, Effect, RiskLevel } from '../../../core/action/action.ts'
import type { DecisionRules } from '../../../core/decision/decide.ts'
import type { AgentFacts, DecisionInput, EnforcementLevel } from '../../../core/decision/decision.ts'
import { compilePolicy } from '../../../core/decision/policies/compile-policy.ts'
import { parsePolicyYaml } from '../../../core/decision/policies/policy-document.ts'
import { buildPolicyIndex } from '../../../core/decision/policies/policy-index.ts'
import { verdictOfRule } from '../../../core/decision/vocabulary.ts'
import type { PermissionEntry, PolicyEntry } from '../../../core/wire/gateway/sync.ts'
import { buildPermissionIndex } from '../../support/permission-index.ts'

/** Rules and inputs as the golden files and tests write them: only what matters, the rest has a default. */
export type PolicyText = {
  id: string
  name?: string
  priority?: number
  mode?: 'enforce' | 'monitor'
  yaml: string
} & Pick<PolicyEntry, 'tier' | 'agentsOf'>
export type PermissionText = Pick<PermissionEntry, 'id' | 'connector_type' | 'action_pattern' | 'decision'> &
  Partial<PermissionEntry>

export type RulesText = {
  level: EnforcementLevel | null
  default: PermissionEntry['decision']
  permissions: PermissionText[] | null
  policies: PolicyText[]
}

export type ActionText = {
  type: string
  connector?: string
  effect?: Effect
  risk?: RiskLevel
  environment?: string
  parameters?: Record<string, unknown>
  hints?: Record<string, boolean>
  unmapped?: boolean
}

export function rulesOf(text: RulesText): DecisionRules {
  const permissions = text.permissions?.map((row) => ({
    agent: '*',
    reason: null,
    source: 'api' as const,
    managed_by: null,
    ...row,
  }))
  return {
    level: text.level,
    defaultVerdict: verdictOfRule(text.default),
    permissions: permissions === undefined ? null : buildPermissionIndex(permissions),
    policies: policiesOf(text.policies),
  }
}

export function policiesOf(texts: PolicyText[]): DecisionRules['policies'] {
  return buildPolicyIndex(
    texts.map(({ id, name = id, priority = 100, mode = 'enforce', yaml, ...reach }) =>
      compilePolicy({
        ...{ id, name, version: 1, priority, mode, document: parsePolicyYaml(yaml).document },
        ...reach,
      }),
    ),
  )
}

export function actionOf(text: ActionText): Action {
  const connector = text.connector ?? text.type.split('.')[0] ?? ''
  return {
    type: text.type,
    connector,
    effect: text.effect ?? 'write',
    risk: text.risk ?? 'medium',
    resource: {
      provider: connector,
      ...(text.environment === undefined ? {} : { environment: text.environment }),
    },
    parameters: text.parameters ?? {},
    riskHints: text.hints ?? {},
    ...(text.unmapped === undefined ? {} : { unmapped: text.unmapped }),
  }
}

export function inputOf(
  action: ActionText,
  rest: Partial<Omit<DecisionInput, 'action' | 'agent'>> & { agent?: Partial<AgentFacts> } = {},
): DecisionInput {
  const { agent, ...others } = rest
  return {
    nowMs: Date.UTC(2026, 0, 1, 12),
    ...others,
    action: actionOf(action),
    agent: {
      id: 'agent_1',
      name: 'bot',
      environment: 'development',
      runtime: 'test',
      status: 'active',
      ...agent,
    },
  }
}
