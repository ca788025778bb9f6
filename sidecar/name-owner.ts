import { type NameOwner, ownerOfName, portsOfHost } from '../core/capture/host-names.ts'
import { decideUnowned } from '../core/decision/egress.ts'
import { normaliseHost } from '../core/request/authority.ts'
import type { Resolve } from '../core/request/outbound-address.ts'
import type { Snapshot } from '../core/snapshot/snapshot.ts'
import { resolveByDns } from './upstream/dial.ts'

/** Who owns a name that is asked for; null while there are no rules. */
export function ownerOf(snapshot: Snapshot | null, name: string): NameOwner | null {
  if (snapshot === null) return null
  const host = normaliseHost(name)
  return host === null ? 'unknown' : ownerOfName(snapshot, host)
}

/** True when no connector owns the host on any port, and the gateway refuses hosts without connector. */
export function isUnownedHost(snapshot: Snapshot | null, host: string, port: number): boolean {
  if (snapshot === null || portsOfHost(snapshot, host).length > 0) return false
  return decideUnowned(snapshot, host, port).verdict !== 'allow'
}

/**
 * A name as it stands. A pod's search list would be tried first: slow, and somebody in the cluster could own
 * `api.example.com.svc.cluster.local`.
 */
export const resolveAbsolute: Resolve = (host) => resolveByDns(`${host}.`)

export function existsOutside(name: string): Promise<boolean> {
  return resolveAbsolute(name).then(
    (addresses) => addresses.length > 0,
    () => false,
  )
}
