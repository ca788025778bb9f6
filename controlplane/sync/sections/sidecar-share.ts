import { wholeNamespace } from '../../../core/decision/permissions/permissions.ts'
import type { AgentEntry, ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { GatewayRow } from '../../features/gateways/rows.ts'
import type { PermissionRow } from '../../features/permissions/rows.ts'

/** Returns the permissions that can decide about an agent: its own, those of its namespace, and those of all agents. */
export function permissionsOf(rows: readonly PermissionRow[], agent: string): readonly PermissionRow[] {
  const names = ['*', agent, wholeNamespace(agent)]
  return rows.filter((row) => names.includes(row.agent))
}

/** Returns the connectors for a sidecar; without credentials while its agent is suspended or revoked. */
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
 * Returns the connectors of which an action is allowed to the agent or held for it: a tenant's pod holds no credential
 * that its agent can never use. Where egress may pass, the other connectors are included without their credential.
 * Without their entry their hosts would count as egress and pass.
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

/** Returns whether actions without a permission may pass. */
function isLenient({ enforcementLevel, defaultDecision }: GatewayRow['spec']): boolean {
  return enforcementLevel !== 'full_enforce' || defaultDecision !== 'deny'
}
