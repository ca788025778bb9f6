import { handleRule } from '../connectors/handles/handle-scope.ts'
import type { BoundConnector } from '../connectors/registry.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Decision } from './decision.ts'
import { plainDecision } from './egress.ts'

/**
 * Owner of a handle: this agent (`own`), only other agents (`foreign`), or unknown to the control plane (`unknown`).
 */
export type HandleOwner = 'own' | 'foreign' | 'unknown'

/**
 * Returns the decision that refuses these handles; undefined if the agent may use them. The level `monitor` allows the
 * request and states the decision of full enforcement in `would`.
 */
export function decideHandle(
  { gateway }: Snapshot,
  bound: BoundConnector,
  named: ReadonlyArray<{ readonly kind: string; readonly owner: HandleOwner }>,
): Decision | undefined {
  const rule = handleRule(bound)
  if (rule === 'shared') return undefined
  const foreign = named.find(({ owner }) => owner === 'foreign')
  const unknown = rule === 'strict' ? named.find(({ owner }) => owner === 'unknown') : undefined
  const refused = foreign ?? unknown
  if (refused === undefined) return undefined
  const reason =
    foreign === undefined ? unknownReason(refused.kind, bound) : foreignReason(refused.kind, bound)
  return gateway.level === 'monitor'
    ? plainDecision('allow', 'deny', `Enforcement level monitor allows the request. ${reason}`, 'level')
    : plainDecision('deny', 'deny', reason, 'default')
}

function foreignReason(kind: string, { entry }: BoundConnector): string {
  return `The request uses a ${textOf(kind)} that another agent created at the provider. Use one that this agent created, or set handles: shared on Connector "${entry.name}" to share such resources among its agents.`
}

function unknownReason(kind: string, { entry }: BoundConnector): string {
  return `The request uses a ${textOf(kind)} that is not known to belong to this agent, and Connector "${entry.name}" has handles: strict. Use one that this agent created through the gateway, or set handles: own on the Connector.`
}

function textOf(kind: string): string {
  return kind.replaceAll('_', ' ')
}
