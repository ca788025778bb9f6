import { Resolver } from 'node:dns/promises'
import type { Address, Resolve } from '../../core/request/outbound-address.ts'

/** DNS of a sidecar in a pod, as the installation sets it. */
export type DnsSettings = {
  /** Addresses of DNS servers, `IP` or `IP:PORT`, in the order of preference. */
  readonly servers: readonly string[]
  /** Domain of the cluster's Services, such as `cluster.local`. */
  readonly clusterDomain: string
}

/** Longest wait for the response of one server, in milliseconds. The wait doubles with every further attempt. */
const ATTEMPT_MS = 1_500
const ATTEMPTS = 2
/** Longest time for which an answer is used, in milliseconds. A shorter TTL of the answer has precedence. */
const MAX_AGE_MS = 30_000
const MAX_NAMES = 1_024

type Answer = { readonly addresses: readonly Address[]; readonly untilMs: number }

/**
 * Creates a resolver that sends its queries to the given servers only. The author of a pod controls its
 * `/etc/resolv.conf` and `/etc/hosts`, so neither is used. Every name is absolute; a name that ends in `.svc` is a
 * Service of the cluster. Returns IPv4 addresses first, because many clusters have no route for IPv6. Rejects when the
 * name has no address of either family.
 */
export function createResolver({ servers, clusterDomain }: DnsSettings, monotonicMs: () => number): Resolve {
  const resolver = new Resolver({ timeout: ATTEMPT_MS, tries: ATTEMPTS })
  resolver.setServers(servers)
  const known = new Map<string, Answer>()

  async function query(name: string): Promise<Answer> {
    const [v4, v6] = await Promise.allSettled([
      resolver.resolve4(name, { ttl: true }),
      resolver.resolve6(name, { ttl: true }),
    ])
    if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
    const records = [
      ...(v4.status === 'fulfilled' ? v4.value.map((record) => ({ ...record, family: 4 })) : []),
      ...(v6.status === 'fulfilled' ? v6.value.map((record) => ({ ...record, family: 6 })) : []),
    ]
    const ageMs = Math.min(MAX_AGE_MS, ...records.map(({ ttl }) => ttl * 1_000))
    const addresses = records.map(({ address, family }) => ({ address, family }))
    return { addresses, untilMs: monotonicMs() + ageMs }
  }

  return async (host) => {
    const bare = host.toLowerCase().replace(/\.$/, '')
    const name = bare.endsWith('.svc') ? `${bare}.${clusterDomain}` : bare
    const last = known.get(name)
    if (last !== undefined && monotonicMs() < last.untilMs) return last.addresses
    const answer = await query(name)
    known.delete(name)
    if (known.size >= MAX_NAMES) known.clear()
    known.set(name, answer)
    return answer.addresses
  }
}
