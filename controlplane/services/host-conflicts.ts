import type { ConnectorRow } from '../store/connectors.ts'
import type { GatewayRow } from '../store/gateways.ts'
import { ownedDomains, sharePort } from './connector-domains.ts'
import { namespaceOf } from './gateway-binding.ts'

export type Claimant = Pick<ConnectorRow, 'id' | 'name' | 'spec' | 'gatewayIds' | 'source'>

/** Of the object that a connector comes from. */
export type Age = { readonly createdAt: string; readonly uid: string }

/** At which Gateways a connector has the hosts that it claims. */
export type Contest = {
  readonly won: readonly GatewayRow[]
  /** About the Gateways at which another one has them, as full sentences. */
  readonly reasons: readonly string[]
  /** Those that give way, and where. */
  readonly displaced: ReadonlyArray<{ readonly connector: ConnectorRow; readonly gatewayId: string }>
}

/**
 * Whose hosts they are where connectors of several namespaces claim them, wildcards included. The namespace of the Gateway
 * has them, whenever its connector comes; among others the older object, then the smaller uid. The order in which
 * connectors are applied changes nothing.
 */
export function contestHosts(
  candidate: Claimant,
  gateways: readonly GatewayRow[],
  { rivals, ageOf }: { readonly rivals: readonly ConnectorRow[]; readonly ageOf: (name: string) => Age },
): Contest {
  const domains = ownedDomains(candidate)
  const foes = rivals.flatMap((connector) => {
    const domain = connector.id === candidate.id ? undefined : coveredBy(domains, ownedDomains(connector))
    return domain === undefined || !sharePort(candidate.spec, connector.spec) ? [] : [{ connector, domain }]
  })
  const fought = gateways.map((gateway) => {
    const present = foes.filter(
      ({ connector }) =>
        serves(connector, gateway) && ownerOf(connector, gateway) !== ownerOf(candidate, gateway),
    )
    const winner = present.find(({ connector }) => !isBefore(candidate, connector, { gateway, ageOf }))
    return { gateway, present, winner }
  })
  return {
    won: fought.flatMap(({ gateway, winner }) => (winner === undefined ? [gateway] : [])),
    reasons: fought.flatMap(({ gateway, winner }) =>
      winner === undefined ? [] : [reasonOf(gateway, winner.connector, winner.domain)],
    ),
    displaced: fought.flatMap(({ gateway, present, winner }) =>
      winner === undefined ? present.map(({ connector }) => ({ connector, gatewayId: gateway.id })) : [],
    ),
  }
}

/** Whether a connector of the same owner exists at one of these Gateways: those settle equal hosts among themselves. */
export function isOfSameOwner(a: Claimant, b: Claimant, gateways: readonly GatewayRow[]): boolean {
  return gateways.some((gateway) => ownerOf(a, gateway) === ownerOf(b, gateway))
}

/** A namespace. What the API or a manifests folder has made belongs to the Gateway's own. */
function ownerOf({ name, source }: Claimant, gateway: GatewayRow): string {
  return namespaceOf(source === 'kubernetes' ? { name } : gateway)
}

function isBefore(
  a: Claimant,
  b: Claimant,
  { gateway, ageOf }: { readonly gateway: GatewayRow; readonly ageOf: (name: string) => Age },
): boolean {
  const own = namespaceOf(gateway)
  if (ownerOf(a, gateway) === own) return true
  if (ownerOf(b, gateway) === own) return false
  const [first, second] = [ageOf(a.name), ageOf(b.name)]
  if (first.createdAt !== second.createdAt) return first.createdAt < second.createdAt
  return first.uid < second.uid
}

/** The first of `domains` that has a host in common with one of `others`. */
function coveredBy(domains: readonly string[], others: readonly string[]): string | undefined {
  return domains.find((domain) => others.some((other) => covers(domain, other) || covers(other, domain)))
}

function covers(wide: string, narrow: string): boolean {
  return wide === narrow || (wide.startsWith('*.') && narrow.endsWith(wide.slice(1)))
}

function serves({ gatewayIds }: ConnectorRow, { id }: GatewayRow): boolean {
  return gatewayIds.length === 0 || gatewayIds.includes(id)
}

function reasonOf(gateway: GatewayRow, { name, source }: ConnectorRow, domain: string): string {
  const isOwn = ownerOf({ name, source } as Claimant, gateway) === namespaceOf(gateway)
  const why = isOwn ? 'which is of the namespace of the Gateway' : 'which is older'
  return `${domain} belongs at Gateway ${gateway.name} to the connector ${name}, ${why}; remove the host here, or have that connector removed`
}
