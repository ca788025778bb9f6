import { decideUnowned, isListedHost } from '../decision/egress.ts'
import { normaliseHost } from '../request/authority.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/**
 * How the DNS listener treats a name. `governed`: a connector, `egress.allowedHosts` or `egress.tcp` lists the name.
 * `open`: none of these lists the name, but the gateway allows unlisted hosts, so an existing name is resolved.
 * `unknown`: the listener does not resolve the name.
 */
export type NameOwner = 'governed' | 'open' | 'unknown'

/** Returns the `NameOwner` of a host name in this snapshot. `name` must be in lower case without a trailing dot. */
export function ownerOfName(snapshot: Snapshot, name: string): NameOwner {
  if (portsOfHost(snapshot, name).length > 0) return 'governed'
  const listed = strict(snapshot)
  if (isListedHost(listed, name)) return 'governed'
  if (snapshot.gateway.egress.tcp.some(({ port }) => isOpaque(snapshot, name, port))) return 'governed'
  return decideUnowned(snapshot, name, 443).verdict === 'allow' ? 'open' : 'unknown'
}

/** Top-level domains without servers on the Internet: RFC 6761, RFC 6762, RFC 7686. */
const SPECIAL = new Set(['arpa', 'invalid', 'local', 'localhost', 'onion'])

/**
 * Returns false for names without a server on the Internet: single labels, reverse look-ups, `localhost` and names of
 * the local network. `name` must be in lower case without a trailing dot.
 */
export function isPublicName(name: string): boolean {
  const host = normaliseHost(name)
  const dot = host?.lastIndexOf('.') ?? -1
  return host !== null && dot > 0 && !SPECIAL.has(host.slice(dot + 1))
}

/**
 * Reports whether `egress.tcp` lists this host and port. The gateway forwards bytes of any protocol to these hosts
 * without inspection.
 */
export function isOpaque(snapshot: Snapshot, host: string, port: number): boolean {
  const { gateway } = strict(snapshot)
  const onlyTcp = { ...snapshot, gateway: { ...gateway, egress: { ...gateway.egress, allowedHosts: [] } } }
  return decideUnowned(onlyTcp, host, port).verdict === 'allow'
}

/** Returns all ports on which connectors own this host; empty if none does. */
export function portsOfHost({ hosts }: Snapshot, name: string): readonly number[] {
  const owners = [...(hosts.exact.get(name) ?? [])]
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    owners.push(...(hosts.wildcards.get(name.slice(dot + 1)) ?? []))
  }
  return [...new Set(owners.flatMap(({ ports }) => ports))]
}

/**
 * Returns a copy of the snapshot with the level `full_enforce` and `unmatchedHosts: deny`, so that only listed hosts
 * pass.
 */
function strict(snapshot: Snapshot): Snapshot {
  const { gateway } = snapshot
  const egress = { ...gateway.egress, unmatchedHosts: 'deny' as const }
  return { ...snapshot, gateway: { ...gateway, level: 'full_enforce', egress } }
}
