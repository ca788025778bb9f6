import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { GatewayRow } from '../../features/gateways/rows.ts'
import type { PermissionRow } from '../../features/permissions/rows.ts'
import type { AgentPermissions } from './permission-index.ts'

/** Connectors for a sidecar. Sidecars with an equal `key` receive equal entries. */
export type SidecarConnectors = {
  readonly key: string
  readonly entries: () => readonly ConnectorEntry[]
}

/**
 * Returns a function that returns the connectors for the sidecar of an agent. These are the connectors of which the
 * agent may use an action, at once or after an approval. A tenant's pod thus contains no credential that its agent
 * cannot use. If the gateway permits egress to hosts that no Connector owns, the result also contains all other
 * connectors, but without credentials. If these were missing, requests to their hosts would pass as egress. Credentials
 * are removed while the agent is suspended or revoked.
 */
export function createSidecarConnectors(
  entries: readonly ConnectorEntry[],
  { spec }: GatewayRow,
): (permissions: AgentPermissions, isActive: boolean) => SidecarConnectors {
  const isOpen = spec.egress.unmatchedHosts === 'tunnel' || spec.egress.allowedHosts.length > 0
  const types = new Set(entries.map(({ type }) => type))
  const sharedTypes = new WeakMap<AgentPermissions['shared'], ReadonlySet<string>>()

  function usableTypes({ shared, own }: AgentPermissions): ReadonlySet<string> {
    if (isLenient(spec)) return types
    const known = sharedTypes.get(shared) ?? typesOf(shared.rows)
    sharedTypes.set(shared, known)
    return new Set([...known, ...typesOf(own)])
  }

  return (permissions, isActive) => {
    const usable = usableTypes(permissions)
    return {
      key: JSON.stringify([isActive, [...usable].sort()]),
      entries: () =>
        entries.flatMap((entry) => {
          const isUsable = usable.has(entry.type)
          if (!isUsable && !isOpen) return []
          return [isUsable && isActive ? entry : withoutCredential(entry)]
        }),
    }
  }
}

/**
 * Returns the connector's entry without its credential, and without the permission to request tokens for a single
 * request.
 */
function withoutCredential(entry: ConnectorEntry): ConnectorEntry {
  const { minted } = entry
  return { ...entry, secret: null, ...(minted === undefined ? {} : { minted: { ...minted, narrow: false } }) }
}

function typesOf(rows: readonly PermissionRow[]): ReadonlySet<string> {
  return new Set(rows.filter(({ decision }) => decision !== 'deny').map(({ connectorType }) => connectorType))
}

/** Returns whether the gateway may forward actions without a permission. */
function isLenient({ enforcementLevel, defaultDecision }: GatewayRow['spec']): boolean {
  return enforcementLevel !== 'full_enforce' || defaultDecision !== 'deny'
}
