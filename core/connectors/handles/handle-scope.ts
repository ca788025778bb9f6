import type { BoundConnector } from '../registry.ts'
import type { HandleRule } from './handle.ts'

/**
 * Returns the scope in which the ids of a connector are unique: the provider for all its Connectors, or a single
 * Connector for self-hosted servers.
 */
export function handleScope({ connector, config, entry }: BoundConnector): string {
  const isAtProvider = config.domains.length === 0 && config.baseUrl === undefined
  return isAtProvider && connector.domains(config).length > 0 ? connector.name : `Connector ${entry.name}`
}

/** Returns the Connector's rule for handles. Default: `own`; `shared` for connector types without a handle table. */
export function handleRule({ connector, entry }: BoundConnector): HandleRule {
  return connector.handles === undefined ? 'shared' : (entry.handles ?? 'own')
}
