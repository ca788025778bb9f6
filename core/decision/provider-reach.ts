import type { Action } from '../action/action.ts'
import { REACHING_KINDS } from '../connectors/provider-side/kinds.ts'
import { type BoundConnector, findConnector } from '../connectors/registry.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Decision } from './decision.ts'
import { decideUnowned, plainDecision } from './egress.ts'

/**
 * Decides about the host that the provider connects to for one of its own actions. The Connector's
 * `providerTools.allow` must list the kind of the action, and the agent must be allowed to reach the host. Undefined
 * if both conditions hold. The level `monitor` allows the request and states the verdict of full enforcement in
 * `would`.
 */
export function decideReach(snapshot: Snapshot, bound: BoundConnector, action: Action): Decision | undefined {
  const { byProvider, nameReason = '' } = action
  if (byProvider === undefined) return undefined
  const { kind, reaches } = byProvider
  const isAllowed = bound.entry.providerTools?.allow.some((allowed) => allowed === kind) === true
  if (reaches === 'unread') return isAllowed ? undefined : heldUnread(snapshot, bound, action)
  if (isReaching(kind) && !isAllowed) {
    const remedy = `Add "${kind}" to providerTools.allow of Connector "${bound.entry.name}" to permit it, or remove the field.`
    return against(snapshot, `${nameReason} ${remedy}`)
  }
  if (reaches === null) return undefined
  if (reaches === 'unreadable') {
    const remedy = 'Servers differ in how they parse the host of the URL. Send a plain https URL.'
    return against(snapshot, `${nameReason} ${remedy}`)
  }
  if (findConnector(snapshot.hosts, reaches.host, reaches.port) !== null) return undefined
  const decision = decideUnowned(snapshot, reaches.host, reaches.port)
  return decision.would === 'allow' ? undefined : { ...decision, reason: `${nameReason} ${decision.reason}` }
}

const REACHING: ReadonlySet<string> = new Set(REACHING_KINDS)

function isReaching(kind: string): boolean {
  return REACHING.has(kind)
}

/**
 * Returns a hold for a request with content that the gateway does not read. An approver must decide, regardless of
 * permissions.
 */
function heldUnread({ gateway }: Snapshot, { entry }: BoundConnector, { nameReason = '' }: Action): Decision {
  const reason = `${nameReason} The gateway cannot read the request completely, so the request requires approval. List "provider_tool.unknown" in providerTools.allow of Connector "${entry.name}" to leave it to permissions and policies.`
  return gateway.level === 'monitor'
    ? plainDecision('allow', 'hold', `Enforcement level monitor allows the request. ${reason}`, 'level')
    : plainDecision('hold', 'hold', reason, 'default')
}

function against({ gateway }: Snapshot, reason: string): Decision {
  return gateway.level === 'monitor'
    ? plainDecision('allow', 'deny', `Enforcement level monitor allows the request. ${reason}`, 'level')
    : plainDecision('deny', 'deny', reason, 'default')
}
