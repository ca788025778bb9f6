import type { BoundConnector } from '../registry.ts'
import type { HandleRule } from './handle.ts'

/**
 * Returns the scope in which the ids of a connector's resources are unique. All Connectors of a provider share one
 * scope; each Connector of a self-hosted server has its own.
 */
export function handleScope({ connector, config, entry }: BoundConnector): string {
  const isAtProvider = config.domains.length === 0 && config.baseUrl === undefined
  return isAtProvider && connector.domains(config).length > 0 ? connector.name : `Connector ${entry.name}`
}

/** Returns the Connector's rule for handles. Default: `own`; `shared` for connector types without a handle table. */
export function handleRule({ connector, entry }: BoundConnector): HandleRule {
  return connector.handles === undefined ? 'shared' : (entry.handles ?? 'own')
}
