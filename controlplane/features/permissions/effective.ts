import { actionFromSpec } from '../../../core/action/spec.ts'
import type { Catalogue } from '../../../core/connectors/catalogue.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { type DecisionRules, decide } from '../../../core/decision/decide.ts'
import type { Decision, DecisionInput } from '../../../core/decision/decision.ts'
import { withCredential } from '../../../core/decision/proxied.ts'
import { LOG_DECISION } from '../../../core/decision/vocabulary.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { EffectiveAction, EffectiveReply } from '../../../core/wire/permissions.ts'
import type { ScopedReads } from '../../db/scoped-query.ts'
import type { ActionRules, ActionRulesSource, GatewayRules } from '../actions/rules.ts'
import { type AgentRow, listAgentsIn } from '../agents/rows.ts'
import type { CatalogueReading } from '../connectors/catalogue.ts'
import { listConnectorsIn } from '../connectors/rows.ts'
import { gatewayNamesIn } from '../gateways/rows.ts'

export type EffectivePermissionsDeps = {
  readonly read: ScopedReads
  readonly catalogue: Catalogue
  readonly actionRules: Pick<ActionRulesSource, 'fresh'>
  readonly nowMs: () => number
}

/**
 * Returns the effective decision for every action of one connector type, from the permissions, policies and enforcement
 * level of the agent's gateway. Without `agent`, uses the first agent by name. Throws `not_found` for an unknown or
 * revoked agent.
 */
export type EffectivePermissions = (
  namespaces: Namespaces,
  question: { readonly agent?: string | undefined; readonly type: EffectiveReply['type'] },
) => Promise<EffectiveReply>

type Deps = EffectivePermissionsDeps & { readonly reading: CatalogueReading }

export function createEffectivePermissions(deps: Deps): EffectivePermissions {
  return async (namespaces, { agent: name, type }) => {
    const query = deps.read(namespaces)
    const [rules, all, gateways, connectors] = await Promise.all([
      deps.actionRules.fresh(),
      listAgentsIn(query),
      gatewayNamesIn(query),
      listConnectorsIn(query),
    ])
    const shown = new Set(connectors.map(({ name }) => name))
    const agents = all.filter(({ status }) => status !== 'revoked')
    const agent = chosen(agents, name)
    const nameOf = (id: string | null) => (id === null ? undefined : gateways.get(id)) ?? null
    const gateway = agent === undefined ? null : rules.gatewayOf(agent)
    const bound = gateway?.connectors.get(type) ?? []
    return {
      agent: agent?.name ?? null,
      gateway: nameOf(agent?.gatewayId ?? null),
      type,
      connectors: bound.map(({ entry }) => entry.name).filter((each) => shown.has(each)),
      agents: agents.map((each) => ({
        name: each.name,
        status: each.status,
        gateway: nameOf(each.gatewayId),
      })),
      actions: agent === undefined ? [] : actionsOf(deps, { agent, type, rules, gateway, bound: bound[0] }),
    }
  }
}

function chosen(agents: readonly AgentRow[], name: string | undefined): AgentRow | undefined {
  if (name === undefined) return agents[0]
  const found = agents.find((agent) => agent.name === name)
  if (found !== undefined) return found
  throw new ChaperoneError('not_found', { detail: `There is no agent ${name}. Check the name.` })
}

type Case = {
  readonly agent: AgentRow
  readonly type: EffectiveReply['type']
  readonly rules: ActionRules
  readonly gateway: GatewayRules | null
  readonly bound: BoundConnector | undefined
}

function actionsOf({ reading, catalogue, nowMs }: Deps, given: Case): EffectiveAction[] {
  const decisionRules = rulesOf(given)
  const now = nowMs()
  return reading.actions(given.type).map((named) => {
    const spec = { type: named.type, resource: { provider: given.type } }
    const action = actionFromSpec(spec, catalogue.knownAction(named.type))
    const decision = decide(decisionRules, inputOf(given, action, now))
    return { ...named, ...viewOf(finished(given, decision)) }
  })
}

function rulesOf({ gateway, rules }: Case): DecisionRules {
  if (gateway === null)
    return { permissions: null, policies: rules.policies, level: null, defaultVerdict: 'deny' }
  const { permissions, policies, gateway: own } = gateway.snapshot
  return { permissions, policies, level: own.level, defaultVerdict: own.defaultVerdict }
}

/**
 * Builds the decision input of an action. The input describes a typical request through the gateway, because a policy
 * may have conditions on the request.
 */
function inputOf(
  { agent, gateway, bound }: Case,
  action: DecisionInput['action'],
  nowMs: number,
): DecisionInput {
  const { id, name, environment, runtime, status } = agent
  const facts = { action, agent: { id, name, environment, runtime, status }, nowMs }
  if (gateway === null) return facts
  const method = action.effect === 'read' ? 'GET' : 'POST'
  const request = { method, host: bound?.entry.domains[0] ?? '', path: '/', raw_path: '/', query: {} }
  const own = named(gateway.snapshot.gateway)
  if (bound === undefined) return { ...facts, gateway: own, request }
  return {
    ...facts,
    gateway: own,
    request,
    connector: { ...named(bound.entry), type: bound.connector.name },
  }
}

function named({ name, environment }: { readonly name: string; readonly environment?: string | undefined }) {
  return environment === undefined ? { name } : { name, environment }
}

function finished({ gateway, bound }: Case, decision: Decision): Decision {
  return gateway === null || bound === undefined
    ? decision
    : withCredential(decision, bound, gateway.snapshot)
}

function viewOf(decision: Decision): Omit<EffectiveAction, 'type' | 'effect' | 'risk'> {
  const { verdict, would, reason, source, permission, permissionPattern, rules } = decision
  return {
    decision: LOG_DECISION[verdict],
    would: LOG_DECISION[would],
    reason,
    source,
    permission: permission === null ? null : { id: permission, pattern: permissionPattern ?? '' },
    rules: [...rules],
  }
}
