import type { BoundConnector } from '../registry.ts'
import type { HandleRule } from './handle.ts'

/**
 * Within what the ids of a connector are unique: the provider, whichever Connector leads to it, or the one Connector that
 * leads to servers of one's own.
 */
export function handleScope({ connector, config, entry }: BoundConnector): string {
  const isAtProvider = config.domains.length === 0 && config.baseUrl === undefined
  return isAtProvider && connector.domains(config).length > 0 ? connector.name : `Connector ${entry.name}`
}

/** `own` for the types whose handles are known, unless the Connector says otherwise. */
export function handleRule({ connector, entry }: BoundConnector): HandleRule {
  return connector.handles === undefined ? 'shared' : (entry.handles ?? 'own')
}
