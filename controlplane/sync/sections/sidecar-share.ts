import { wholeNamespace } from '../../../core/decision/permissions/permissions.ts'
import type { AgentEntry, ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { GatewayRow } from '../../features/gateways/store.ts'
import type { PermissionRow } from '../../features/permissions/store.ts'

/** The permissions that can decide about an agent: its own, its namespace's and everybody's. */
export function permissionsOf(rows: readonly PermissionRow[], agent: string): readonly PermissionRow[] {
  const names = ['*', agent, wholeNamespace(agent)]
  return rows.filter((row) => names.includes(row.agent))
}

/** What a sidecar is sent of the connectors. No credential while its agent is suspended or revoked. */
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
 * The connectors that the sidecar of one agent has a use for: those of which something is allowed to it or held for
 * it. A tenant's pod holds no credential that its agent can never use. Where hosts that nobody owns are let through,
 * the others come without their credential: left out, their hosts would be nobody's and pass.
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

/** What no permission names may happen all the same. */
function isLenient({ enforcementLevel, defaultDecision }: GatewayRow['spec']): boolean {
  return enforcementLevel !== 'full_enforce' || defaultDecision !== 'deny'
}
