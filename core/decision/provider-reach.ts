import type { Action } from '../action/action.ts'
import { REACHING_KINDS } from '../connectors/provider-side/kinds.ts'
import type { ReachedHost } from '../connectors/provider-side/reached-host.ts'
import { type BoundConnector, findConnector } from '../connectors/registry.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Decision } from './decision.ts'
import { decideUnowned, plainDecision } from './egress.ts'

/**
 * Decides about the host that the provider connects to when it performs one of its own actions. Denies if the
 * Connector's `providerTools.deny` lists the kind of the action. If the gateway does not read the part of the request
 * with the host, holds unless `providerTools.allow` lists the kind. Otherwise denies if the kind reaches third parties
 * and `providerTools.allow` does not list it, if servers could read different hosts, or if the agent may not reach the
 * host. Returns undefined if the host needs no decision. The level `monitor` allows the request and states the decision
 * of full enforcement in `would`.
 */
export function decideReach(snapshot: Snapshot, bound: BoundConnector, action: Action): Decision | undefined {
  const { byProvider, nameReason = '' } = action
  if (byProvider === undefined) return undefined
  const { kind, reaches } = byProvider
  const { allow, deny = [] } = bound.entry.providerTools ?? NO_TOOLS
  if (includes(deny, kind)) {
    const remedy = `Connector "${bound.entry.name}" denies "${kind}" in providerTools.deny. Remove the field from the request.`
    return against(snapshot, `${nameReason} ${remedy}`)
  }
  const isAllowed = includes(allow, kind)
  if (reaches === 'unread') return isAllowed ? undefined : heldUnread(snapshot, bound, action)
  if (isReaching(kind) && !isAllowed) {
    const remedy = `Add "${kind}" to providerTools.allow of Connector "${bound.entry.name}" to permit it, or remove the field.`
    return against(snapshot, `${nameReason} ${remedy}`)
  }
  return reaches === null ? undefined : decideHost(snapshot, reaches, nameReason)
}

/**
 * Returns the types and names of the Connectors that own the hosts to which the provider connects for these actions, as
 * scopes of kill switches match them.
 */
export function reachedConnectors({ hosts }: Snapshot, actions: readonly Action[]): readonly string[] {
  const names = actions.flatMap(({ byProvider }) => {
    const reaches = byProvider?.reaches ?? null
    if (reaches === null || typeof reaches === 'string') return []
    const owner = findConnector(hosts, reaches.host, reaches.port)
    return owner === null ? [] : [owner.connector.name, owner.entry.name]
  })
  return names.length === 0 ? NO_NAMES : [...new Set(names)]
}

const NO_NAMES: readonly string[] = Object.freeze([])

function decideHost(
  snapshot: Snapshot,
  reaches: ReachedHost | 'unreadable',
  nameReason: string,
): Decision | undefined {
  if (reaches === 'unreadable') {
    const remedy =
      'Servers differ in how they parse the host of the URL. Send a plain https URL, or for a call a plain sip or tel URI.'
    return against(snapshot, `${nameReason} ${remedy}`)
  }
  if (findConnector(snapshot.hosts, reaches.host, reaches.port) !== null) return undefined
  const decision = decideUnowned(snapshot, reaches.host, reaches.port)
  return decision.would === 'allow' ? undefined : { ...decision, reason: `${nameReason} ${decision.reason}` }
}

const NO_TOOLS: NonNullable<BoundConnector['entry']['providerTools']> = { allow: [] }

function includes(kinds: readonly string[], kind: string): boolean {
  return kinds.includes(kind)
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
  const reason = `${nameReason} The gateway cannot read the request completely, so the request requires approval. To let permissions and policies decide instead, list "provider_tool.unknown" in providerTools.allow of Connector "${entry.name}".`
  return gateway.level === 'monitor'
    ? plainDecision('allow', 'hold', `Enforcement level monitor allows the request. ${reason}`, 'level')
    : plainDecision('hold', 'hold', reason, 'default')
}

function against({ gateway }: Snapshot, reason: string): Decision {
  return gateway.level === 'monitor'
    ? plainDecision('allow', 'deny', `Enforcement level monitor allows the request. ${reason}`, 'level')
    : plainDecision('deny', 'deny', reason, 'default')
}
