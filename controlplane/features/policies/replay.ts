import { setImmediate } from 'node:timers/promises'
import { actionFromSpec, type KnownAction } from '../../../core/action/spec.ts'
import { classify } from '../../../core/connectors/classify.ts'
import type { Named } from '../../../core/connectors/connector.ts'
import { knownByName } from '../../../core/connectors/known-action.ts'
import { actionsOf } from '../../../core/connectors/named-action.ts'
import { type BoundConnector, findConnector } from '../../../core/connectors/registry.ts'
import { type DecisionRules, decideAll, decideNamed, judgedActions } from '../../../core/decision/decide.ts'
import type { Decision } from '../../../core/decision/decision.ts'
import { compilePolicy } from '../../../core/decision/policies/compile-policy.ts'
import type { CompiledPolicy } from '../../../core/decision/policies/compiled-policy.ts'
import { parsePolicyYaml } from '../../../core/decision/policies/policy-document.ts'
import { buildPolicyIndex, type PolicyIndex } from '../../../core/decision/policies/policy-index.ts'
import { proxiedInputs, withCredential } from '../../../core/decision/proxied.ts'
import { LOG_DECISION } from '../../../core/decision/vocabulary.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import { type CanonicalRequest, isRefusal } from '../../../core/request/canonical.ts'
import { requestOf } from '../../../core/request/request-of-url.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { ReplayReply } from '../../../core/wire/policies.ts'
import type { ScopedQuery, ScopedReads } from '../../db/scoped-query.ts'
import type { ActionRulesSource, GatewayRules } from '../actions/rules.ts'
import { type AgentRow, listAgentsIn } from '../agents/rows.ts'
import { listTraffic } from '../traffic/rows.ts'
import { getPolicyIn } from './store.ts'

export type PolicyReplayDeps = {
  readonly read: ScopedReads
  readonly orgId: string
  readonly knownAction: (type: string) => KnownAction | null
  readonly actionRules: Pick<ActionRulesSource, 'fresh'>
}

/** A policy as it would be after the edit. */
export type ReplayDraft = {
  readonly policyYaml: string
  /** Id of the policy whose text the draft replaces. Without an id, the draft is a new policy. */
  readonly policyId?: string | undefined
  /**
   * Ids of the Gateways of the draft; an empty list means all Gateways. Default: the Gateways of the replaced policy.
   */
  readonly gatewayIds?: readonly string[] | undefined
  readonly enabled: boolean
  readonly priority: number
  readonly mode: 'enforce' | 'monitor'
}

export type ReplayInput = {
  readonly drafts: readonly ReplayDraft[]
  /** Number of records to replay, newest first. */
  readonly limit: number
}

/**
 * Decides recorded requests twice by the current configuration: first with the current policies, then with the drafts
 * in place of the policies that they replace. Request bodies are not recorded, so conditions on parameters have no
 * values. Throws `validation` for an invalid draft.
 */
export type PolicyReplay = (namespaces: Namespaces, input: ReplayInput) => Promise<ReplayReply>

const NOT_STORED = 'pol_draft'

export function createPolicyReplay(deps: PolicyReplayDeps): PolicyReplay {
  return async (namespaces, { drafts, limit }) => {
    const { orgId } = deps
    const query = deps.read(namespaces)
    const placed: PlacedDraft[] = []
    for (const [index, draft] of drafts.entries()) placed.push(await placedDraft(query, draft, index))
    const [rules, agents, { records }] = await Promise.all([
      deps.actionRules.fresh(),
      listAgentsIn(query),
      listTraffic(query, orgId, { filter: {}, limit }),
    ])
    const byName = new Map(agents.map((agent) => [agent.name, agent]))
    const indexes = createIndexes(placed)
    const caseOf = (record: TrafficRecord): Case | null => {
      const agent = byName.get(record.agent ?? '')
      const gateway = agent === undefined ? null : rules.gatewayOf(agent)
      return agent === undefined || gateway === null
        ? null
        : { record, agent, gateway, policies: indexes(gateway) }
    }
    const cases: Array<Change | null> = []
    for (const record of records) {
      const found = caseOf(record)
      cases.push(found === null ? null : replayed(deps, found))
      if (placed.length > 1) await setImmediate()
    }
    const known = cases.filter((each) => each !== null)
    return {
      considered: known.length,
      skipped: cases.length - known.length,
      changes: known.filter(isChanged),
    }
  }
}

type PlacedDraft = {
  readonly policy: CompiledPolicy
  readonly enabled: boolean
  /** Ids of the Gateways to which the draft applies. An empty list means all Gateways. */
  readonly gatewayIds: readonly string[]
}

/**
 * Compiles one draft. Before every draft except the first, yields to the event loop, because the compilation blocks
 * the thread.
 */
async function placedDraft(query: ScopedQuery, draft: ReplayDraft, index: number): Promise<PlacedDraft> {
  const { policyYaml, policyId, gatewayIds, enabled, priority, mode } = draft
  if (index > 0) await setImmediate()
  const { document } = parsePolicyYaml(policyYaml)
  const row = policyId === undefined ? undefined : await getPolicyIn(query, policyId)
  const policy = compilePolicy({
    id: row?.id ?? `${NOT_STORED}${index}`,
    name: row?.name ?? 'this policy',
    version: (row?.version ?? 0) + 1,
    priority,
    mode,
    document,
  })
  return { policy, enabled, gatewayIds: gatewayIds ?? row?.gatewayIds ?? [] }
}

/**
 * Returns a function that returns the policy index of a gateway: its policies, with the drafts in place of the policies
 * that they replace. Builds the index once per gateway.
 */
function createIndexes(drafts: readonly PlacedDraft[]): (gateway: GatewayRules) => PolicyIndex {
  const made = new Map<string, PolicyIndex>()
  const replaced = new Set(drafts.map(({ policy }) => policy.id))
  return ({ id, snapshot }) => {
    const known = made.get(id)
    if (known !== undefined) return known
    const { all } = snapshot.policies
    const others = all.filter((policy) => !replaced.has(policy.id))
    const present = new Map(all.map((policy) => [policy.id, policy]))
    const bound = drafts.filter(
      ({ enabled, gatewayIds }) => enabled && (gatewayIds.length === 0 || gatewayIds.includes(id)),
    )
    const index = buildPolicyIndex([
      ...others,
      ...bound.map(({ policy }) => inPlaceOf(present.get(policy.id), policy)),
    ])
    made.set(id, index)
    return index
  }
}

/**
 * Returns the draft with the tier (platform, gateway or guest) and the agents of the policy that the draft replaces.
 * Tier and agents depend on the Gateways and the owner of the policy and not on its text.
 */
function inPlaceOf(present: CompiledPolicy | undefined, draft: CompiledPolicy): CompiledPolicy {
  if (present === undefined) return draft
  const { tier, agentsOf, tightensOnly } = present
  return { ...draft, tier, agentsOf, tightensOnly }
}

type Case = {
  readonly record: TrafficRecord
  readonly agent: AgentRow
  readonly gateway: GatewayRules
  readonly policies: PolicyIndex
}
type Change = ReplayReply['changes'][number]

function replayed(deps: PolicyReplayDeps, { record, agent, gateway, policies }: Case): Change | null {
  const { snapshot } = gateway
  const request = requestOf(record.method, `https://${record.host ?? ''}${record.path ?? '/'}`)
  const isRow = record.refusals !== null && record.refusals !== undefined
  if (isRow || record.action_type === null || isRefusal(request)) return null
  const bound = findConnector(snapshot.hosts, request.host, request.port)
  if (bound === null) return null
  const type = record.action_type
  const named = nameAgain(deps, { request, bound, type, candidates: record.candidates ?? [] })
  const nowMs = Date.parse(record.time)
  const { rules, inputs } = proxiedInputs({ snapshot, agent, bound, request, nowMs }, judgedActions(named))
  const decideBy = (by: DecisionRules): Decision => {
    const decision = decideNamed(by, named, inputs)
    return decision === 'split' ? decideAll(by, inputs) : decision
  }
  const view = (decision: Decision) => viewOf(withCredential(decision, bound, snapshot))
  return {
    record_id: record.id,
    time: record.time,
    agent: agent.name,
    action_type: type,
    request: `${record.method} ${record.host ?? ''}${record.path ?? ''}`,
    before: view(decideBy(rules)),
    after: view(decideBy({ ...rules, policies })),
  }
}

type Recorded = {
  readonly request: CanonicalRequest
  readonly bound: BoundConnector
  readonly type: string
  /** Names of the other possible actions, when the gateway could not determine the action. */
  readonly candidates: readonly string[]
}

/**
 * Returns the action of a record. Classifies the recorded path again, which also gives the target of the action. Falls
 * back to the recorded action name.
 */
function nameAgain({ knownAction }: PolicyReplayDeps, { request, bound, type, candidates }: Recorded): Named {
  const named = classify(bound, request)
  const found = isRefusal(named) ? [] : actionsOf(named)
  const same = found.find((action) => action.type === type)
  if (same === undefined || isRefusal(named)) {
    const resource = { provider: bound.connector.name }
    const action = actionFromSpec({ type, resource }, knownByName(type, knownAction, [bound]))
    return { kind: 'actions', actions: [action] }
  }
  const isOpen =
    named.kind === 'candidates'
      ? named.settledBy === 'server' || candidates.length > 0
      : named.announces !== undefined
  return isOpen ? asRecorded(named, candidates) : { kind: 'actions', actions: [same] }
}

/**
 * Removes possible actions that the record does not list, because the gateway excluded them by the request
 * body or a look-up.
 */
function asRecorded(named: Named, listed: readonly string[]): Named {
  if (named.kind !== 'candidates' || listed.length === 0) return named
  return { ...named, candidates: named.candidates.filter(({ type }) => listed.includes(type)) }
}

function viewOf({ verdict, would, reason }: Decision): Change['before'] {
  return { decision: LOG_DECISION[verdict], would: LOG_DECISION[would], reason }
}

function isChanged({ before, after }: Change): boolean {
  return before.decision !== after.decision || before.would !== after.would
}
