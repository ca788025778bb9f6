import { type NameOwner, ownerOfName, portsOfHost } from '../core/capture/host-names.ts'
import { decideUnowned } from '../core/decision/egress.ts'
import { normaliseHost } from '../core/request/authority.ts'
import type { Resolve } from '../core/request/outbound-address.ts'
import type { Snapshot } from '../core/snapshot/snapshot.ts'
import { resolveByDns } from './upstream/dial.ts'

/** Returns how the DNS listener treats a host name (see `NameOwner`); null before the first snapshot. */
export function ownerOf(snapshot: Snapshot | null, name: string): NameOwner | null {
  if (snapshot === null) return null
  const host = normaliseHost(name)
  return host === null ? 'unknown' : ownerOfName(snapshot, host)
}

/** Reports whether a request to this host is refused because no connector owns the host on any port. */
export function isUnownedHost(snapshot: Snapshot | null, host: string, port: number): boolean {
  if (snapshot === null || portsOfHost(snapshot, host).length > 0) return false
  return decideUnowned(snapshot, host, port).verdict !== 'allow'
}

/**
 * Resolves a name as absolute, with a dot at its end, by the system's resolver. Otherwise that resolver would first try
 * its search list.
 */
export const resolveAbsolute: Resolve = (host) => resolveByDns(`${host}.`)

/** Returns a function that reports whether a name has an address. */
export function existsBy(resolve: Resolve): (name: string) => Promise<boolean> {
  return (name) =>
    resolve(name).then(
      (addresses) => addresses.length > 0,
      () => false,
    )
}
