import { ConnectorSpec } from '../../../../core/crd/connector-spec.ts'
import type { Query } from '../../../db/query.ts'
import { covers, ownedDomains, portsOf } from '../../connectors/domains.ts'
import type { HostClaims, ManifestRow, Since } from '../rows.ts'
import { nextSecond } from '../store.ts'

/** Time of a host claim that does not exist. The placeholder sorts after every ISO 8601 time. */
const NEVER = '~'

type Claiming = {
  readonly name: string
  readonly namespace: string
  readonly spec: unknown
}

/**
 * Returns the times at which an object claimed its hosts, ports and Gateways. Claims of the first spec begin at the
 * creation of the object. Claims that an edit adds begin at the time of the edit, so that an edit cannot take a host
 * from an older object. An invalid spec leaves the claims unchanged.
 *
 * @param before Claims of the previous spec of the same object (uid); undefined for a new object.
 */
function claimsOf(
  claiming: Claiming,
  { before, since }: { readonly before: HostClaims | undefined; readonly since: string },
): HostClaims | undefined {
  const parsed = ConnectorSpec.safeParse(claiming.spec)
  if (!parsed.success) return before
  const spec = parsed.data
  const gateways = (spec.gatewayRefs ?? []).map(
    ({ name, namespace }) => `${namespace ?? claiming.namespace}/${name}`,
  )
  return {
    hosts: sinceOf(ownedDomains({ name: claiming.name, spec }), since, (host) =>
      earliest(before?.hosts ?? {}, (known) => covers(known, host)),
    ),
    ports: sinceOf(portsOf(spec).map(String), since, (port) => before?.ports[port]),
    gateways: sinceOf(gateways, since, (gateway) => before?.gateways[gateway]),
  }
}

function sinceOf(keys: readonly string[], since: string, kept: (key: string) => string | undefined): Since {
  return Object.fromEntries([...new Set(keys)].sort().map((key) => [key, kept(key) ?? since]))
}

function earliest(known: Since, isMeant: (key: string) => boolean): string | undefined {
  const times = Object.entries(known).flatMap(([key, since]) => (isMeant(key) ? [since] : []))
  return times.sort()[0]
}

/**
 * Returns the host claims of a stored object. For an object that an older version stored, the claims begin at the
 * creation of the object.
 */
export function storedClaims(
  row: Pick<ManifestRow, 'kind' | 'namespace' | 'name' | 'stored'>,
): HostClaims | undefined {
  const { stored, namespace, name, kind } = row
  if (kind !== 'Connector') return undefined
  const claiming = { name: `${namespace}/${name}`, namespace, spec: stored.spec }
  return stored.claims ?? claimsOf(claiming, { before: undefined, since: stored.createdAt ?? '' })
}

/** Returns the row with the host claims of its spec. `known`: the stored row of the same name. */
export async function withClaims(
  q: Query,
  row: ManifestRow,
  known: ManifestRow | undefined,
): Promise<ManifestRow> {
  if (row.kind !== 'Connector') return row
  const { stored, namespace, name } = row
  const isSameObject = known !== undefined && known.uid === row.uid
  const before = isSameObject ? storedClaims(known) : undefined
  const since = isSameObject ? await nextSecond(q) : (stored.createdAt ?? '')
  const claims = claimsOf({ name: `${namespace}/${name}`, namespace, spec: stored.spec }, { before, since })
  return claims === undefined ? row : { ...row, stored: { ...stored, claims } }
}

/**
 * Returns the time since which an object claims the host, the Gateway and at least one of the ports. A connector
 * without a manifest object claims nothing.
 */
export function claimedSince(
  claims: HostClaims | undefined,
  {
    gateway,
    host,
    ports,
  }: { readonly gateway: string; readonly host: string; readonly ports: readonly number[] },
): string {
  if (claims === undefined) return NEVER
  const port = ports.map((each) => claims.ports[String(each)] ?? NEVER).sort()[0] ?? NEVER
  const times = [claims.hosts[host] ?? NEVER, claims.gateways[gateway] ?? NEVER, port]
  return times.sort().at(-1) ?? NEVER
}
