import { percent, statedDetails } from '../../../../core/decision/audit-details.ts'
import { killReason } from '../../../../core/decision/kill-switch/kill-switch.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import type { HoldBody, HoldReply } from '../../../../core/wire/gateway/hold.ts'
import type { Instance } from '../../../../core/wire/gateway/instance.ts'
import { LIMITS } from '../../../../core/wire/schema/limits.ts'
import { sha256Hex } from '../../../../runtime/sha256.ts'
import type { Query } from '../../../db/query.ts'
import { findAgentIds } from '../../agents/rows.ts'
import { agentActor } from '../../audit/actor.ts'
import { recordEvents } from '../../audit/events.ts'
import { findActionOwners } from '../../audit/rows.ts'
import { foreignAgents } from '../../gateways/rows.ts'
import { refuseForeign } from '../../gateways/service.ts'
import { listKillSwitches } from '../../kill-switch/rows.ts'
import { listInstances } from '../../pods/rows.ts'
import { killOfHold } from '../cancellation/killed-holds.ts'
import { approvalCard } from '../card.ts'
import { appendExpired } from '../expiry/service.ts'
import { releaseByGrant } from '../grants/release-by-grant.ts'
import { lockForHold } from '../opening-lock-store.ts'
import type { ApprovalRow } from '../rows.ts'
import { findCoveringHold, insertApproval } from '../store.ts'
import { holdOfExecution } from './execution-holds.ts'
import {
  accessDetails,
  cardFacts,
  type HoldInput,
  holdLimits,
  type IdentifiedHold,
  pendingDetails,
  requiredOf,
} from './input.ts'
import {
  addWaitingRequest,
  countAccessRequests,
  countPendingHolds,
  expireForHold,
} from './waiting-request-store.ts'

/**
 * Joins the pending hold of the same request, or opens a hold. Transactions that open holds of one agent are
 * serialised. Concurrent identical requests therefore share one approval card, and the limit of pending holds is exact.
 */
export async function openHold(q: Query, given: HoldInput): Promise<HoldReply> {
  const { owner, body, orgId } = given
  await refuseForeignAgent(q, given)
  await lockForHold(q, orgId, body.agent)
  const input = { ...given, instance: await instanceOf(q, owner.podUid) }
  await refuseKilled(q, input)
  const binding = bindingOf({ ...owner, instance: input.instance }, body.binding)
  const executed = await holdOfExecution(q, input, binding)
  if (executed !== undefined) return executed
  const key = { gatewayId: owner.gatewayId, binding, agent: body.agent }
  const earlier = await findCoveringHold(q, { ...key, windowS: LIMITS.approvedRetryWindowS })
  if (earlier?.status === 'pending') {
    return { outcome: 'joined', approval: approvalCard(await addWaitingRequest(q, earlier.id, body.asker)) }
  }
  if (earlier !== undefined) return { outcome: 'approved', approval: approvalCard(earlier) }
  await refuseForeignAction(q, body)
  await refuseManyAccessRequests(q, input)
  const granted = await releaseByGrant(q, input, binding)
  if (granted !== undefined) return { outcome: 'approved', approval: approvalCard(granted) }
  return { outcome: 'created', approval: approvalCard(await create(q, input, binding)) }
}

/**
 * Rejects a hold for an agent of another Gateway. Otherwise the approval card would appear to approvers of another
 * Gateway or namespace. Sidecars are exempt, because their pod token already names the agent.
 */
async function refuseForeignAgent(q: Query, { owner, body }: HoldInput): Promise<void> {
  if (owner.podUid != null) return
  const { gatewayId, gatewayName: name } = owner
  const foreign = await foreignAgents(q, { gatewayId, name }, [body.agent])
  refuseForeign({ agents: foreign.map((agent) => agent.name) })
}

/**
 * Rejects a request under a kill switch. The gateway may have admitted the request before the gateway received the kill
 * switch.
 */
async function refuseKilled(
  q: Query,
  { owner, body, instance, announcedKills }: IdentifiedHold,
): Promise<void> {
  const kills = [...(await listKillSwitches(q)), ...announcedKills()]
  if (kills.length === 0) return
  const { agent, connector, connector_name, reached_connectors = [] } = body
  const entry = killOfHold(kills, {
    gateway: owner.gatewayName,
    agent,
    agentId: (await findAgentIds(q, [agent])).get(agent) ?? null,
    instance,
    connectors: [connector, ...(connector_name === undefined ? [] : [connector_name]), ...reached_connectors],
  })
  if (entry === null) return
  const reason = killReason(entry)
  throw new ChaperoneError('kill_switch', { error: reason, detail: reason, extra: { scope: entry.scope } })
}

/** Returns the instance of a pod; null outside of a pod, and for a pod that the operator has not reported. */
export async function instanceOf(q: Query, podUid: string | null | undefined): Promise<Instance | null> {
  return podUid == null ? null : ((await listInstances(q, [podUid])).get(podUid) ?? null)
}

/**
 * Returns the binding of an approval: a hash of the gateway's id, the UID of the instance's SandboxClaim, and the
 * request hash that the gateway computed. An identical request of another gateway or SandboxClaim therefore needs its
 * own approval.
 */
export function bindingOf(
  { gatewayId, instance }: { readonly gatewayId: string; readonly instance: Instance | null },
  binding: string,
): string {
  const claim = instance?.claim_uid === undefined ? '' : `\n${instance.claim_uid}`
  return sha256Hex(`${gatewayId}\n${binding}${claim}`)
}

/** Maximum number of open access requests (requests for a permission) of one agent. */
const MAX_ACCESS_REQUESTS = 3

async function refuseManyAccessRequests(q: Query, { body, orgId }: IdentifiedHold): Promise<void> {
  if (body.access_request !== true) return
  if ((await countAccessRequests(q, orgId, body.agent)) < MAX_ACCESS_REQUESTS) return
  throw new ChaperoneError('too_many_holds', {
    detail: `Agent ${body.agent} already has ${MAX_ACCESS_REQUESTS} open access requests. Wait for an answer.`,
    retryAfterS: 60,
  })
}

async function create(q: Query, input: IdentifiedHold, binding: string): Promise<ApprovalRow> {
  const { owner, body, orgId } = input
  const limits = await holdLimits(q, owner.gatewayId)
  if ((await countPendingHolds(q, orgId, body.agent)) >= limits.maxPendingPerAgent) {
    throw new ChaperoneError('too_many_holds', {
      detail: `Agent ${body.agent} already has ${limits.maxPendingPerAgent} pending approvals, the maximum. Send the request again after approvers have answered some of them.`,
      retryAfterS: 30,
    })
  }
  // Expires two kinds of earlier holds. An overdue hold of the same request may still be stored as pending, and a
  // unique index permits only one pending hold per agent and binding. `countPendingHolds` does not count abandoned
  // holds; they have a separate limit, because an agent could otherwise open any number of holds by disconnecting.
  const key = { orgId, agent: body.agent, binding, limit: limits.maxPendingPerAgent }
  await appendExpired(q, await expireForHold(q, key), input.onEnded)
  const row = await insertApproval(q, {
    orgId,
    kind: 'hold',
    gatewayId: owner.gatewayId,
    agent: body.agent,
    actId: body.act_id,
    binding,
    card: cardFacts(input),
    requiredGroups: requiredOf(body),
    timeoutS: limits.timeoutSeconds,
    asker: body.asker,
  })
  await recordEvents(q, holdEvents(row, body, { orgId, owner }))
  return row
}

/**
 * Rejects an action id that belongs to another agent. Otherwise the audit events of the hold would appear in the
 * evidence of the other agent's action.
 */
async function refuseForeignAction(q: Query, { act_id, agent }: HoldBody): Promise<void> {
  const owner = (await findActionOwners(q, [act_id])).get(act_id) ?? null
  if (owner === null || owner === (await findAgentIds(q, [agent])).get(agent)) return
  throw new ChaperoneError('forbidden', {
    detail: `Action ${act_id} belongs to another agent than ${agent}, so the request was refused. Send the id of an action of this agent.`,
  })
}

/** Returns the first two audit events of the action: the requested action and the pending approval. */
function holdEvents(row: ApprovalRow, body: HoldBody, { orgId, owner }: Pick<HoldInput, 'orgId' | 'owner'>) {
  const actor = agentActor(row.agentId, `gateway:${owner.gatewayName}`)
  const common = { orgId, actor, actionRequestId: body.act_id }
  const riskScore = percent(body.risk_score)
  const requested = {
    action_type: body.action_type,
    resource: { provider: body.connector, target: body.target, environment: body.environment ?? null },
    ...statedDetails('parameters', body.parameters, sha256Hex),
    risk_score: riskScore,
    ...statedDetails('risk_hints', body.risk_hints ?? {}, sha256Hex),
    ...accessDetails(body),
  }
  return [
    { ...common, type: 'action.requested' as const, details: requested },
    { ...common, type: 'action.pending_approval' as const, details: pendingDetails(row, body) },
  ]
}
