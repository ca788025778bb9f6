import { codehost } from '../../../core/connectors/codehost.ts'
import type { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import type { ConnectorRow } from '../../features/connectors/rows.ts'
import type { GatewayRow } from '../../features/gateways/rows.ts'

/** Hosts of the code-host provider. A code-host Connector without `domains` owns these hosts. */
const PROVIDER_HOSTS: ReadonlySet<string> = new Set(
  codehost.domains({ name: 'codehost', domains: [], actions: [] }),
)

/** Gateways and Connectors that may use the organisation's code-host token (setting `codehost_pat`, spec 2.9). */
export type OrganisationTokenScope =
  /** On one machine, every gateway may use the token. */
  | { readonly kind: 'all' }
  /**
   * In a cluster, only Gateways and Connectors of these namespaces may use the token, because every tenant can create a
   * Connector.
   */
  | { readonly kind: 'namespaces'; readonly namespaces: ReadonlySet<string> }

/**
 * Returns the ids of the gateways on which this Connector uses the organisation's token. The token belongs to the
 * whole organisation, but the Connector belongs to a tenant. Therefore, gateways send the token only over TLS and
 * only to the provider's own hosts. Returns no ids for a Connector with another domain, address, port or CA.
 */
export function organisationTokenGateways(
  row: Pick<ConnectorRow, 'name' | 'source' | 'spec' | 'gatewayIds'>,
  gateways: readonly Pick<GatewayRow, 'id' | 'name'>[],
  scope: OrganisationTokenScope,
): readonly string[] {
  if (!reachesOnlyTheProvider(row.spec)) return []
  if (scope.kind === 'namespaces' && row.source !== 'api' && !isListed(row.name, scope.namespaces)) return []
  return gateways
    .filter(({ id }) => row.gatewayIds.length === 0 || row.gatewayIds.includes(id))
    .filter(({ name }) => scope.kind === 'all' || isListed(name, scope.namespaces))
    .map(({ id }) => id)
}

function reachesOnlyTheProvider({
  type,
  domains = [],
  baseUrl,
  ports,
  upstream,
  tls,
}: ConnectorSpec): boolean {
  const isStandard = upstream.url === undefined && upstream.caBundle === undefined && baseUrl === undefined
  return (
    type === 'codehost' &&
    isStandard &&
    !upstream.allowPrivateAddresses &&
    tls.mode === 'intercept' &&
    domains.every((domain) => PROVIDER_HOSTS.has(domain)) &&
    ports.every((port) => port === 443)
  )
}

function isListed(name: string, namespaces: ReadonlySet<string>): boolean {
  return namespaces.has(name.split('/')[0] ?? '')
}
