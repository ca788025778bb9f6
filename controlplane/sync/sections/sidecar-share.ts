import { coversAgent } from '../../../core/decision/permissions/agent-pattern.ts'
import type { AgentEntry, ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { GatewayRow } from '../../features/gateways/rows.ts'
import type { PermissionRow } from '../../features/permissions/rows.ts'

/**
 * Returns the permissions that can apply to an agent: those of the agent, of a prefix of its name, and of all agents.
 */
export function permissionsOf(rows: readonly PermissionRow[], agent: string): readonly PermissionRow[] {
  return rows.filter((row) => coversAgent(row.agent, agent))
}

/** Returns the connectors for a sidecar. Credentials are removed while the agent is suspended or revoked. */
export function sidecarConnectors(
  entries: readonly ConnectorEntry[],
  rows: readonly PermissionRow[],
  { gateway, own }: { readonly gateway: GatewayRow; readonly own: readonly AgentEntry[] },
): readonly ConnectorEntry[] {
  const connectors = connectorsOf(entries, rows, gateway)
  if (own.some(({ status }) => status === 'active')) return connectors
  return connectors.map((entry) => ({ ...entry, secret: null }))
}

/**
 * Returns the connectors of which the agent may use an action, at once or after an approval. A tenant's pod thus
 * contains no credential that its agent cannot use. When unknown hosts may pass as egress, the other connectors are
 * included without credentials; without their entries, their hosts would pass as egress.
 */
function connectorsOf(
  entries: readonly ConnectorEntry[],
  rows: readonly PermissionRow[],
  { spec }: GatewayRow,
): readonly ConnectorEntry[] {
  if (isLenient(spec)) return entries
  const usable = new Set(rows.filter((row) => row.decision !== 'deny').map((row) => row.connectorType))
  const isOpen = spec.egress.unmatchedHosts === 'tunnel' || spec.egress.allowedHosts.length > 0
  return entries.flatMap((entry) => {
    if (usable.has(entry.type)) return [entry]
    return isOpen ? [{ ...entry, secret: null }] : []
  })
}

/** Returns whether the gateway may forward actions without a permission. */
function isLenient({ enforcementLevel, defaultDecision }: GatewayRow['spec']): boolean {
  return enforcementLevel !== 'full_enforce' || defaultDecision !== 'deny'
}
