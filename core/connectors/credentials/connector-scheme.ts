import type { ConnectorEntry } from '../../wire/gateway/sync.ts'
import type { AuthScheme } from '../connector.ts'
import type { BoundConnector } from '../registry.ts'

/**
 * Returns the authentication scheme of the connector. If a scheme of the type `header` names no header, the header is
 * the default of the connector's type, else `Authorization`.
 */
export function connectorScheme({ entry, connector }: BoundConnector): AuthScheme {
  const { type, header, username } = entry.auth
  if (type === 'header') {
    const fallback = connector.defaultAuth.type === 'header' ? connector.defaultAuth.header : 'Authorization'
    return { type, header: header ?? fallback }
  }
  return type === 'basic' && username !== undefined ? { type, username } : plain(type)
}

function plain(type: Exclude<ConnectorEntry['auth']['type'], 'header'>): AuthScheme {
  return { type }
}
