import type { CanonicalRequest } from '../request/canonical.ts'
import type { CatalogueRow, Connector, ConnectorConfig } from './connector.ts'
import { injectAuth } from './credentials/credentials.ts'
import { executeAddress } from './domains.ts'
import { methodRequest } from './execute/method-request.ts'
import { executeByRows } from './execute/to-request.ts'
import { effectOfMethod, namedAction, oneAction, unmappedAction } from './named-action.ts'

const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Creates the connector types `generic` and `webhook`, which classify a request by its HTTP method alone. Their domains
 * must be configured.
 */
function createMethodConnector<Name extends string>(name: Name, title: string): Connector<Name> {
  return {
    name,
    label: { title, credential: 'Token' },
    domains: (config) => config.domains,
    parseAction(request, _body, config) {
      const method = request.method === 'HEAD' ? 'GET' : request.method
      if (!METHODS.has(method)) return oneAction(unmappedAction(name, request, config))
      return oneAction(methodAction(name, method, request, config))
    },
    injectCredentials: (edit, secret, auth) => injectAuth(edit, secret, auth),
    carriers: { headers: [], query: ['token'], bodyFields: [] },
    defaultAuth: { type: 'bearer' },
    // The server may run any web framework, so method overrides in all formats are checked.
    overridable: ['form', 'multipart', 'json'],
    catalogue: [...METHODS].map((method) => methodRow(name, method)),
    toRequest(spec, config) {
      const method = spec.type.slice(name.length + 1).toUpperCase()
      if (METHODS.has(method)) return methodRequest(method, spec, config)
      // The Connector declares the action (`spec.actions`).
      return executeByRows([], spec, { ...executeAddress(config, ''), format: 'json' })
    },
  }
}

function methodAction(name: string, method: string, request: CanonicalRequest, config: ConnectorConfig) {
  const { type, effect, risk } = methodRow(name, method)
  return namedAction({ connector: name, type, effect, risk, target: request.host + request.rawPath }, config)
}

function methodRow(name: string, method: string): CatalogueRow {
  const effect = effectOfMethod(method)
  const risk = effect === 'read' ? 'low' : method === 'DELETE' ? 'high' : 'medium'
  return { method, type: `${name}.${method.toLowerCase()}`, effect, risk }
}

export const generic = createMethodConnector('generic', 'Any HTTP API')
export const webhook = createMethodConnector('webhook', 'Webhook receiver')
