import { unownedHostManifests } from '../../../core/crd/manifests/unowned-host-manifests.ts'
import { decideUnowned, portOfUnowned } from '../../../core/decision/egress.ts'
import { knownHostText } from '../../../core/decision/known-hosts.ts'
import { splitAuthority, withoutBrackets } from '../../../core/request/authority-text.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { UnownedHost } from '../../../core/wire/connectors.ts'
import type { ScopedReads } from '../../db/scoped-query.ts'
import { type GatewayRow, listGatewaysIn } from '../gateways/rows.ts'
import { covers, ownedDomains, portsOf } from './domains.ts'
import { type ConnectorRow, listConnectorsIn } from './rows.ts'
import { listUnownedHosts, type UnownedHostRow } from './unowned-host-store.ts'

export type UnownedHosts = {
  /**
   * Returns the hosts of refused requests that no connector governs at present, newest first. The list covers the
   * period for which records are kept.
   */
  list(namespaces: Namespaces, limit: number): Promise<UnownedHost[]>
}

export function createUnownedHosts(deps: {
  readonly read: ScopedReads
  readonly orgId: string
}): UnownedHosts {
  return {
    async list(namespaces, limit) {
      const q = deps.read(namespaces)
      const [rows, gateways, connectors] = [
        await listUnownedHosts(q, deps.orgId),
        await listGatewaysIn(q),
        await listConnectorsIn(q),
      ]
      return merged(rows.map(hostOf))
        .filter((host) => !isOwnedNow(host, gateways, connectors))
        .slice(0, limit)
        .map(({ note, ...host }) => ({
          ...host,
          known: knownHostText(host.host),
          manifests: unownedHostManifests({ ...host, isOtherProtocol: note === 'unsupported_protocol' }),
        }))
    },
  }
}

type Found = Omit<UnownedHost, 'known' | 'manifests'> & Pick<UnownedHostRow, 'note'>

function hostOf({ host, why, agents, first, last, ...row }: UnownedHostRow): Found {
  const authority = splitAuthority(host)
  return {
    gateway: row.gateway,
    requests: row.requests,
    note: row.note,
    host: withoutBrackets(authority.host),
    port: authority.port ?? portOfUnowned(why ?? ''),
    agents: [...(agents ?? [])],
    first: first.toISOString(),
    last: last.toISOString(),
  }
}

/**
 * Merges the rows with the same host and gateway. A host has several rows when only some of its records contain the
 * port.
 */
function merged(rows: readonly Found[]): readonly Found[] {
  const found = new Map<string, Found>()
  for (const row of rows) {
    const key = JSON.stringify([row.gateway, row.host])
    const before = found.get(key)
    if (before === undefined) found.set(key, row)
    else
      found.set(key, {
        ...before,
        agents: [...new Set([...before.agents, ...row.agents])].toSorted(),
        requests: before.requests + row.requests,
        first: before.first < row.first ? before.first : row.first,
      })
  }
  return [...found.values()]
}

/**
 * Reports whether a Connector or an egress rule governs the host at present. The Connector or the rule may have been
 * added after the refusal.
 */
function isOwnedNow(
  { host, port, gateway: name }: Found,
  gateways: readonly GatewayRow[],
  connectors: readonly ConnectorRow[],
): boolean {
  const gateway = gateways.find((row) => row.name === name)
  if (gateway === undefined) return false
  const { egress } = gateway.spec
  const listed = decideUnowned({ gateway: { egress, level: 'full_enforce' } }, host, port)
  if (listed.verdict === 'allow') return true
  return connectors.some((connector) => {
    const { gatewayIds, spec, lostDomains } = connector
    if (gatewayIds.length > 0 && !gatewayIds.includes(gateway.id)) return false
    const lost = lostDomains[gateway.id] ?? []
    const domains = ownedDomains(connector).filter((domain) => !lost.includes(domain))
    return portsOf(spec).includes(port) && domains.some((domain) => covers(domain, host))
  })
}
