import { connectorOfType, TYPES_WITHOUT_HOSTS } from '../../../core/connectors/registry.ts'
import { checkUserRows } from '../../../core/connectors/rows/user-rows.ts'
import type { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import type { ConnectorRow } from './rows.ts'

type Owner = Pick<ConnectorRow, 'name' | 'spec'>

/**
 * Returns the hosts that the connector governs, in lower case: its configured domains and the host of its base URL,
 * otherwise the hosts of its provider.
 */
export function ownedDomains({ name, spec }: Owner): readonly string[] {
  const config = {
    name,
    domains: spec.domains ?? [],
    actions: spec.actions,
    ...(spec.baseUrl === undefined ? {} : { baseUrl: spec.baseUrl }),
  }
  const domains = connectorOfType(spec.type).domains(config)
  const base = spec.baseUrl === undefined ? [] : [new URL(spec.baseUrl).hostname]
  return [...new Set([...domains, ...base].map((domain) => domain.toLowerCase()))]
}

/**
 * Returns how the connector sends its credential. The default depends on the connector type; access tokens are bearer
 * tokens (RFC 6750).
 */
export function authOf(spec: ConnectorSpec): NonNullable<ConnectorSpec['auth']> {
  if (spec.auth === undefined && spec.credential?.oauth2 !== undefined) return { type: 'bearer' }
  return spec.auth ?? { ...connectorOfType(spec.type).defaultAuth }
}

/**
 * Returns the hosts that only one connector of a gateway may govern. Omits the host of the base URL if the connector
 * has configured domains, because several connectors may reach the same instance under different host names.
 */
function claimedDomains({ name, spec }: Owner): readonly string[] {
  const isBehindDomains = (spec.domains?.length ?? 0) > 0
  const { baseUrl: _baseUrl, ...withoutBase } = spec
  return ownedDomains({ name, spec: isBehindDomains ? withoutBase : spec })
}

export type Overlap = { readonly connector: ConnectorRow; readonly domain: string }

/**
 * Returns the other connectors of the same gateways that govern a host of the candidate. A request to this host would
 * match both connectors.
 */
export function findOverlaps(
  candidate: Owner & Pick<ConnectorRow, 'id' | 'gatewayIds'>,
  others: readonly ConnectorRow[],
): readonly Overlap[] {
  const domains = new Set(claimedDomains(candidate))
  return others.flatMap((connector) => {
    if (connector.id === candidate.id || !shareGateway(candidate.gatewayIds, connector.gatewayIds)) return []
    if (sharedPorts(candidate.spec, connector.spec).length === 0) return []
    return claimedDomains(connector)
      .filter((domain) => domains.has(domain))
      .map((domain) => ({ connector, domain }))
  })
}

/**
 * Reports whether two connectors serve a common gateway, given the ids of their gateways. A connector without gateways
 * serves all gateways.
 */
function shareGateway(a: readonly string[], b: readonly string[]): boolean {
  return a.length === 0 || b.length === 0 || a.some((id) => b.includes(id))
}

/** Returns the ports at which both connectors govern their hosts. */
export function sharedPorts(a: ConnectorSpec, b: ConnectorSpec): readonly number[] {
  const ports = new Set(portsOf(a))
  return portsOf(b).filter((port) => ports.has(port))
}

/**
 * Returns the ports at which the connector governs its hosts. Port 80 counts as port 443, because the connector of port
 * 443 also governs requests to port 80.
 */
export function portsOf({ ports, baseUrl }: ConnectorSpec): readonly number[] {
  const base = baseUrl === undefined ? null : new URL(baseUrl)
  const own = base === null ? [] : [Number(base.port) || (base.protocol === 'http:' ? 80 : 443)]
  return [...ports, ...own].map((port) => (port === 80 ? 443 : port))
}

/** Returns an error when the connector has no domains and its type has no hosts of its own; null otherwise. */
export function missingDomains(spec: Pick<ConnectorSpec, 'type' | 'domains' | 'baseUrl'>): string | null {
  const needed = TYPES_WITHOUT_HOSTS.includes(spec.type)
  if (!needed || (spec.domains?.length ?? 0) > 0 || spec.baseUrl !== undefined) return null
  return `a connector of type ${spec.type} has no default hosts; name the hosts of the connector`
}

/**
 * Returns the manifest field because of which the connector governs the domain. For a host that belongs to the
 * connector type, the field is `spec.type`.
 */
export function domainField(
  { domains = [], baseUrl }: Pick<ConnectorSpec, 'domains' | 'baseUrl'>,
  domain: string,
): string {
  const index = domains.findIndex((each) => each.toLowerCase() === domain.toLowerCase())
  if (index >= 0) return `spec.domains[${index}]`
  return baseUrl !== undefined && new URL(baseUrl).hostname === domain ? 'spec.baseUrl' : 'spec.type'
}

/** Returns the warnings of an active connector, as sentences for its status. */
export function connectorWarnings({
  type,
  endpoint,
  actions,
}: Pick<ConnectorSpec, 'type' | 'endpoint' | 'actions'>): readonly string[] {
  const rows = checkUserRows(type, actions).map(
    (text) => `spec.actions: ${text}; requests that match this row do not get its action`,
  )
  if (type !== 'mcp' || endpoint !== undefined) return rows
  return [
    ...rows,
    'The connector names no endpoint, so JSON-RPC by POST is accepted on every path of its hosts. Set endpoint to the path of the MCP server, for example [/mcp].',
  ]
}

/** Returns the error in the authentication settings; null when the settings are valid. */
export function wrongAuth(auth: ConnectorSpec['auth']): string | null {
  if (auth?.type === 'header' && auth.header === undefined) {
    return 'auth type header needs the name of the header, such as X-API-Key'
  }
  return null
}

/** Returns the names of the actions that the spec of a Connector declares. */
export function declaredNames({ spec }: Pick<ConnectorRow, 'spec'>): readonly string[] {
  return spec.actions.map(({ action }) => action)
}

/** Reports whether the domain `wide` equals the domain `narrow`, or is a wildcard that covers it. */
export function covers(wide: string, narrow: string): boolean {
  return wide === narrow || (wide.startsWith('*.') && narrow.endsWith(wide.slice(1)))
}
