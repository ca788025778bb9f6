import { covers, ownedDomains, sharedPorts } from '../../connectors/domains.ts'
import type { ConnectorRow } from '../../connectors/rows.ts'
import { namespaceOf } from '../../gateways/binding.ts'
import type { BindableGateway } from '../../gateways/rows.ts'
import type { HostClaims } from '../rows.ts'
import { claimedSince } from './host-claims.ts'

export type Claimant = Pick<ConnectorRow, 'id' | 'name' | 'spec' | 'gatewayIds' | 'source'>

/** Host claims of the manifest object that declares a connector; empty for a connector without a manifest object. */
export type Claim = { readonly uid: string; readonly claims: HostClaims | undefined }
export type ClaimOf = (name: string) => Claim

/** Domains that a connector lost to another connector, by the id of the Gateway. */
export type LostDomains = Readonly<Record<string, readonly string[]>>

/** Outcome of the host conflicts between one connector and other connectors at the Gateways of this connector. */
export type Contest = {
  /** Gateways at which the connector governs at least one host. */
  readonly won: readonly BindableGateway[]
  /** Domains that the connector lost at the Gateways in `won`. */
  readonly lostDomains: LostDomains
  /** Reasons for the lost hosts, as full sentences. */
  readonly reasons: readonly string[]
  /** Connectors that lose hosts to this connector, with the Gateway of the loss. */
  readonly displaced: readonly Displaced[]
}

export type Displaced = {
  readonly connector: ConnectorRow
  readonly gatewayId: string
  readonly domains: readonly string[]
}

type Rival = {
  readonly connector: ConnectorRow
  readonly domains: readonly string[]
  readonly ports: readonly number[]
}
type Dispute = {
  readonly connector: ConnectorRow
  readonly own: string
  readonly other: string
  readonly isWon: boolean
}

/**
 * Resolves host conflicts between connectors of several namespaces, including wildcards. A connector of the Gateway's
 * namespace wins, whatever the ages of the claims are. Otherwise the older claim wins, then the smaller uid. Each
 * domain is resolved independently, except for connectors that need all their domains.
 */
export function contestHosts(
  candidate: Claimant,
  gateways: readonly BindableGateway[],
  { rivals, claimOf }: { readonly rivals: readonly ConnectorRow[]; readonly claimOf: ClaimOf },
): Contest {
  const domains = ownedDomains(candidate)
  const overlapping = rivals.flatMap((connector): Rival[] => {
    const ports = connector.id === candidate.id ? [] : sharedPorts(candidate.spec, connector.spec)
    const others = ports.length === 0 ? [] : ownedDomains(connector).filter((other) => meets(other, domains))
    return others.length === 0 ? [] : [{ connector, domains: others, ports }]
  })
  const fought = gateways.map((gateway) => {
    const disputes = disputesAt(candidate, gateway, { domains, rivals: overlapping, claimOf })
    return { gateway, disputes, lost: lostOf(candidate, domains, disputes) }
  })
  const won = fought.filter(({ lost }) => lost.length < domains.length)
  const partial = won.filter(({ lost }) => lost.length > 0)
  return {
    won: won.map(({ gateway }) => gateway),
    lostDomains: Object.fromEntries(partial.map(({ gateway, lost }) => [gateway.id, lost])),
    reasons: fought.flatMap(({ gateway, disputes }) => reasonsOf(gateway, disputes)),
    displaced: won.flatMap(({ gateway, disputes, lost }) =>
      displacedBy(
        gateway,
        disputes.filter(({ own }) => !lost.includes(own)),
      ),
    ),
  }
}

/**
 * Reports whether both connectors have the same owner at one of these Gateways. `contestHosts` ignores conflicts
 * between connectors of the same owner.
 */
export function isOfSameOwner(a: Claimant, b: Claimant, gateways: readonly BindableGateway[]): boolean {
  return gateways.some((gateway) => ownerOf(a, gateway) === ownerOf(b, gateway))
}

/**
 * Reports whether the connector needs all its domains: with a base URL, all domains are hosts of this URL; without
 * stated domains, they are the hosts of the connector type.
 */
export function haveCommonBase({ domains = [], baseUrl }: ConnectorRow['spec']): boolean {
  return domains.length === 0 || baseUrl !== undefined
}

function disputesAt(
  candidate: Claimant,
  gateway: BindableGateway,
  given: {
    readonly domains: readonly string[]
    readonly rivals: readonly Rival[]
    readonly claimOf: ClaimOf
  },
): readonly Dispute[] {
  const present = given.rivals.filter(
    ({ connector }) =>
      serves(connector, gateway) && ownerOf(connector, gateway) !== ownerOf(candidate, gateway),
  )
  return present.flatMap(({ connector, domains, ports }) =>
    domains
      .filter((other) => connector.lostDomains[gateway.id]?.includes(other) !== true)
      .flatMap((other) =>
        given.domains
          .filter((own) => covers(own, other) || covers(other, own))
          .map((own) => ({
            connector,
            own,
            other,
            isWon: isBefore(
              { claimant: candidate, domain: own },
              { claimant: connector, domain: other },
              { gateway, ports, claimOf: given.claimOf },
            ),
          })),
      ),
  )
}

function lostOf(
  { spec }: Claimant,
  domains: readonly string[],
  disputes: readonly Dispute[],
): readonly string[] {
  const lost = new Set(disputes.filter(({ isWon }) => !isWon).map(({ own }) => own))
  if (lost.size > 0 && haveCommonBase(spec)) return domains
  return domains.filter((domain) => lost.has(domain))
}

function displacedBy({ id }: BindableGateway, disputes: readonly Dispute[]): Displaced[] {
  const byConnector = Map.groupBy(disputes, ({ connector }) => connector)
  return [...byConnector].map(([connector, given]) => ({
    connector,
    gatewayId: id,
    domains: [...new Set(given.map(({ other }) => other))],
  }))
}

/**
 * Returns the namespace that owns the connector at the Gateway. Connectors of the API or of a manifest folder belong to
 * the namespace of the Gateway.
 */
function ownerOf({ name, source }: Claimant, gateway: BindableGateway): string {
  return namespaceOf(source === 'kubernetes' ? { name } : gateway)
}

type Claimed = { readonly claimant: Claimant; readonly domain: string }
type Place = {
  readonly gateway: BindableGateway
  readonly ports: readonly number[]
  readonly claimOf: ClaimOf
}

function isBefore(a: Claimed, b: Claimed, { gateway, ports, claimOf }: Place): boolean {
  const own = namespaceOf(gateway)
  if (ownerOf(a.claimant, gateway) === own) return true
  if (ownerOf(b.claimant, gateway) === own) return false
  const [first, second] = [claimOf(a.claimant.name), claimOf(b.claimant.name)]
  const sinceOf = ({ claims }: Claim, { domain }: Claimed) =>
    claimedSince(claims, { gateway: gateway.name, host: domain, ports })
  const [since, other] = [sinceOf(first, a), sinceOf(second, b)]
  return since === other ? first.uid < second.uid : since < other
}

function meets(domain: string, others: readonly string[]): boolean {
  return others.some((other) => covers(domain, other) || covers(other, domain))
}

function serves({ gatewayIds }: ConnectorRow, { id }: BindableGateway): boolean {
  return gatewayIds.length === 0 || gatewayIds.includes(id)
}

function reasonsOf(gateway: BindableGateway, disputes: readonly Dispute[]): string[] {
  const lost = Map.groupBy(
    disputes.filter(({ isWon }) => !isWon),
    ({ own }) => own,
  )
  return [...lost].map(([own, [dispute]]) => {
    const { name, source } = dispute?.connector ?? { name: '', source: 'api' }
    const isOwn = (source === 'kubernetes' ? namespaceOf({ name }) : '') === namespaceOf(gateway)
    const why =
      isOwn || source !== 'kubernetes' ? 'which is in the namespace of the Gateway' : 'whose claim is older'
    return `at Gateway ${gateway.name}, the host ${own} belongs to the connector ${name}, ${why}; remove the host from this Connector, or have the other connector removed`
  })
}
