import { BlockList, isIP } from 'node:net'

type Range = readonly [network: string, prefix: number]

/** Never an upstream, whatever a connector allows: cloud metadata, and addresses that name no single host. */
const NEVER: readonly Range[] = [
  ['0.0.0.0', 8],
  ['100.100.100.200', 32],
  ['169.254.169.254', 32],
  ['169.254.170.2', 32],
  ['224.0.0.0', 4],
  ['255.255.255.255', 32],
  ['::', 128],
  ['fd00:ec2::254', 128],
  ['fd20:ce::254', 128],
  ['ff00::', 8],
]

/** Reachable only with `allowPrivateAddresses`. */
const PRIVATE: readonly Range[] = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['240.0.0.0', 4],
  // IPv6: loopback and IPv4-compatible, IPv4-mapped, NAT64 (well-known and local), discard, Teredo, 6to4
  ['::', 96],
  ['::ffff:0:0', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 32],
  ['2002::', 16],
  // unique local, link-local, the old site-local
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
]

// One list per family: a mapped range in a mixed list would match every IPv4 address.
const never = { ipv4: blockList(NEVER, 'ipv4'), ipv6: blockList(NEVER, 'ipv6') }
const notPublic = { ipv4: blockList(PRIVATE, 'ipv4'), ipv6: blockList(PRIVATE, 'ipv6') }

/**
 * Why an address may not be dialled, or null when it may. Only canonical text is read; anything that is not an IP
 * address is refused. IPv6 forms that carry an IPv4 address (mapped, NAT64, 6to4, Teredo) are refused as a whole,
 * because what they reach depends on the network and not on the address.
 */
export function refusedAddress(address: string, allowPrivate: boolean): string | null {
  const bare = address.split('%')[0] ?? address
  const family = isIP(bare)
  if (family === 0) return 'not an IP address'
  const kind = family === 6 ? 'ipv6' : 'ipv4'
  if (never[kind].check(bare, kind)) return 'a metadata, unspecified or multicast address'
  if (!allowPrivate && notPublic[kind].check(bare, kind))
    return 'a loopback, private, link-local or translated address'
  return null
}

function blockList(ranges: readonly Range[], kind: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const [network, prefix] of ranges) {
    if (network.includes(':') === (kind === 'ipv6')) list.addSubnet(network, prefix, kind)
  }
  return list
}
