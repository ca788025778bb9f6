import type { Action } from '../../../core/action/action.ts'
import { classify, scannedMembers } from '../../../core/connectors/classify.ts'
import type { Named } from '../../../core/connectors/connector.ts'
import { judgeImpersonation } from '../../../core/connectors/credentials/impersonation.ts'
import { lostParameter, stripRequest } from '../../../core/connectors/credentials/query-credentials.ts'
import { actionsOf } from '../../../core/connectors/named-action.ts'
import { type BoundConnector, findConnector } from '../../../core/connectors/registry.ts'
import { decideAll, decideNamed, judgedActions, underKillSwitch } from '../../../core/decision/decide.ts'
import type { AgentFacts, Decision } from '../../../core/decision/decision.ts'
import { decideUnowned, plainDecision } from '../../../core/decision/egress.ts'
import { explainText } from '../../../core/decision/explain.ts'
import { matchKill } from '../../../core/decision/kill-switch/kill-switch.ts'
import { type ProxiedCase, proxiedInputs, withCredential } from '../../../core/decision/proxied.ts'
import { LOG_DECISION } from '../../../core/decision/vocabulary.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { isRefusal, type Refusal } from '../../../core/request/canonical.ts'
import { recordPath } from '../../../core/request/redact.ts'
import { requestOf, tunnelRequest } from '../../../core/request/request-of-url.ts'
import { buildSnapshot } from '../../../core/snapshot/build.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { Clock } from '../../../core/state/clock.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { entriesFor } from '../../sync/kill-switch/state.ts'
import type { SectionLibrary } from '../../sync/sections/library.ts'

export type ExplainDeps = {
  readonly library: SectionLibrary
  readonly kills: () => readonly KillEntry[]
  readonly clock: Clock
}

export type Question = {
  readonly gatewayId: string
  readonly method: string
  readonly url: string
  /** Names and values of the header fields, alternating. */
  readonly headers?: readonly string[]
  /**
   * Name of an agent. An agent that the gateway does not serve is evaluated as an active agent without earlier
   * requests.
   */
  readonly agent: string
}

export type Explanation = {
  readonly text: string
  /** Name of the Connector that owns the host; null when no Connector does. */
  readonly connector: string | null
  readonly action: Action | null
  readonly decision: Decision
  readonly snapshot_version: number
  /** False when the gateway serves no agent with the name. */
  readonly agent_known: boolean
}

export type Explain = (question: Question) => Explanation

/**
 * Creates the function that evaluates a request without sending the request. The evaluation uses the configuration of
 * the gateway and the decision code of gateways, so that the result equals the decision of the gateway.
 */
export function createExplain({ library, kills, clock }: ExplainDeps): Explain {
  const snapshots = new Map<string, Snapshot>()
  function snapshotOf(gatewayId: string): Snapshot {
    const set = library.of(gatewayId)
    if (set === null) throw new ChaperoneError('not_found', { detail: `There is no gateway ${gatewayId}.` })
    const known = snapshots.get(gatewayId)
    if (known?.version === set.version) return known
    const sections = Object.fromEntries(
      [...set.texts].map(([name, text]) => [name, JSON.parse(text) as unknown]),
    )
    const snapshot = buildSnapshot({ version: set.version, sections, hashes: set.hashes }, known)
    snapshots.set(gatewayId, snapshot)
    return snapshot
  }
  return (question) => {
    const snapshot = snapshotOf(question.gatewayId)
    const request = requestOf(question.method, question.url, question.headers)
    const finding = isRefusal(request)
      ? refusedFinding(request, null)
      : judge({ snapshot, request, agent: agentOf(snapshot, question.agent), nowMs: clock.nowMs() })
    const decision =
      killDecision(finding, { snapshot, kills: kills(), agent: question.agent }) ?? finding.decision
    const where = isRefusal(request) ? ` ${question.url}` : ` ${request.host}${recordPath(request)}`
    const text = explainText({
      request: `${question.method}${where}`,
      agent: question.agent,
      connector: finding.bound?.entry.name ?? null,
      action: finding.action,
      decision,
      snapshotVersion: snapshot.version,
    })
    return {
      text: [text, ...finding.notes].join('\n'),
      connector: finding.bound?.entry.name ?? null,
      action: finding.action,
      decision,
      snapshot_version: snapshot.version,
      agent_known: snapshot.agentsByName.has(question.agent),
    }
  }
}

type Finding = {
  readonly bound: BoundConnector | null
  readonly action: Action | null
  readonly decision: Decision
  /** Lines below the explanation. They state how the decision depends on the request body. */
  readonly notes: readonly string[]
}

type Case = Omit<ProxiedCase, 'bound'>

function judge(asked: Case): Finding {
  const { snapshot } = asked
  const { host, port } = asked.request
  const bound = findConnector(snapshot.hosts, host, port)
  if (bound === null) {
    const decision = decideUnowned(snapshot, host, port)
    return { bound, action: null, decision, notes: [] }
  }
  if (bound.entry.tlsMode === 'passthrough' && asked.request.scheme === 'https')
    return judgeTunnel(asked, bound)
  const { request, losesOther } = stripRequest(asked.request, bound)
  const named = judgeImpersonation(bound, request) ?? classify(bound, request)
  if (isRefusal(named)) return refusedFinding(named, bound)
  const judged = judgeNamed({ ...asked, request, bound }, named)
  const found = { ...judged, decision: withCredential(judged.decision, bound, snapshot) }
  const isWrite = actionsOf(named).some(({ effect }) => effect === 'write')
  return losesOther && isWrite && found.decision.verdict !== 'deny'
    ? refusedFinding(lostParameter(bound), bound)
    : found
}

/**
 * Evaluates the CONNECT request alone, because the gateway does not read the requests inside the tunnel. Those
 * requests contain the agent's own credential.
 */
function judgeTunnel(asked: Case, bound: BoundConnector): Finding {
  const request = tunnelRequest(asked.request)
  if (isRefusal(request)) return refusedFinding(request, bound)
  const named = classify(bound, request)
  return isRefusal(named) ? refusedFinding(named, bound) : judgeNamed({ ...asked, request, bound }, named)
}

/**
 * Decides each action that the request may perform. When the request body selects the action and the decisions differ,
 * the notes list the decision for each of these actions.
 */
function judgeNamed(given: ProxiedCase, named: Named): Finding {
  const { bound } = given
  const { rules, inputs } = proxiedInputs(given, judgedActions(named))
  const common = decideNamed(rules, named, inputs)
  const decision = common === 'split' ? decideAll(rules, inputs) : common
  const notes =
    common === 'split'
      ? inputs.map(
          ({ action }, at) =>
            `by body     ${action.type}: ${LOG_DECISION[decideAll(rules, inputs.slice(at, at + 1)).verdict]}`,
        )
      : []
  const unread = scannedMembers(bound, given.request) === null ? [] : [UNREAD_BODY]
  return { bound, action: shownAction(named, decision), decision, notes: [...notes, ...unread] }
}

/**
 * Note below the explanation of a request to a model. Tools and other fields of the request body add further actions
 * (for example `provider_tool.mcp`), which the explanation does not evaluate.
 */
const UNREAD_BODY =
  'body        not evaluated here: the gateway also decides on tools, URLs and other fields of the body that make the provider act, so its decision can be stricter'

/**
 * Returns the action that the result shows: the first action of the request. If the request may be one of
 * several actions, returns the action that determined the decision.
 */
function shownAction(named: Named, { actionType }: Decision): Action | null {
  if (named.kind === 'actions') return named.actions[0] ?? null
  return named.candidates.find(({ type }) => type === actionType) ?? named.candidates[0] ?? null
}

function refusedFinding({ detail }: Refusal, bound: BoundConnector | null): Finding {
  return { bound, action: null, decision: plainDecision('deny', 'deny', detail, 'default'), notes: [] }
}

function killDecision(
  { bound, decision }: Finding,
  given: { readonly snapshot: Snapshot; readonly kills: readonly KillEntry[]; readonly agent: string },
): Decision | null {
  const { snapshot, agent } = given
  const gateway = snapshot.gateway.name
  const entry = matchKill(entriesFor(given.kills, gateway), {
    gateway,
    agent,
    agentId: snapshot.agentsByName.get(agent)?.id ?? null,
    instance: null,
    connectors: bound === null ? [] : [bound.entry.type, bound.entry.name],
  })
  return entry === null ? null : underKillSwitch(decision, entry)
}

function agentOf({ agentsByName }: Snapshot, name: string): AgentFacts {
  const known = agentsByName.get(name)
  if (known === undefined)
    return { id: name, name, environment: 'development', runtime: '', status: 'active' }
  const { id, environment, runtime, status } = known
  return { id, name, environment, runtime, status }
}
