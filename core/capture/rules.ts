import { POD_PORTS, PROBE_PORTS } from './pod-contract.ts'

export type CaptureOptions = {
  /**
   * Uid whose packets may leave the network namespace. `define`: the file takes the uid from `nft -D proxy_uid=UID -f
   * FILE`. `nobody`: no packet may leave, because traffic leaves through another namespace.
   */
  readonly proxyUid: number | 'define' | 'nobody'
  /** Loopback ports that only the proxy may connect to. The rules reject connections of other users to these ports. */
  readonly adminPorts?: readonly number[]
}

/** The product's only nftables table. Loading the rules again replaces it in one transaction. */
const CAPTURE_TABLE = 'inet chaperone'

/**
 * Returns the rules file in the image of the rule setter (the init container that loads the rules), for `nft -D
 * proxy_uid=UID -f FILE`.
 */
export function podRules(): string {
  return captureRules({ proxyUid: 'define', adminPorts: [POD_PORTS.health] })
}

const PROBES = `${PROBE_PORTS.first}-${PROBE_PORTS.last}`
const { tls, http, other, dns, proxy } = POD_PORTS

/**
 * Returns nftables rules, as text for `nft -f`, that redirect all traffic to the proxy and drop all other egress. The
 * `inet` family covers IPv4 and IPv6, so the same rules apply to both.
 */
export function captureRules({ proxyUid, adminPorts = [] }: CaptureOptions): string {
  const uid = proxyUid === 'define' ? '$proxy_uid' : String(proxyUid)
  const isExempt = proxyUid !== 'nobody'
  return [
    `table ${CAPTURE_TABLE}`,
    `delete table ${CAPTURE_TABLE}`,
    `table ${CAPTURE_TABLE} {`,
    ...chain('nat_output', 'type nat hook output priority -100; policy accept;', natOutput(uid, isExempt)),
    ...chain(
      'filter_output',
      'type filter hook output priority 0; policy drop;',
      filterOutput(uid, isExempt, adminPorts),
    ),
    ...chain('filter_input', 'type filter hook input priority 0; policy accept;', filterInput(adminPorts)),
    '}',
    '',
  ].join('\n')
}

/**
 * Returns the rules that redirect connections. The proxy's own connections are exempt, except those from its probe
 * ports.
 */
function natOutput(uid: string, isExempt: boolean): readonly string[] {
  return [
    ...(isExempt ? exemption(uid, 'return') : []),
    'oifname "lo" return',
    `meta l4proto { tcp, udp } th dport 53 redirect to :${dns}`,
    `tcp dport 443 redirect to :${tls}`,
    `tcp dport 80 redirect to :${http}`,
    `meta l4proto tcp redirect to :${other}`,
  ]
}

/**
 * Returns the rules that restrict egress. A redirected packet still carries its original output device, so loopback
 * addresses are listed in addition to the loopback device. Conntrack records the destination of a flow at the first
 * packet of the flow. For minutes, conntrack applies this destination to all packets with the same addresses and ports,
 * from any sender. Therefore the proxy must not continue a redirected flow of the agent, and the agent must not
 * continue a flow of the proxy. A closed socket has no uid any more, so the rules match the agent's flows explicitly
 * instead of accepting the proxy's flows.
 */
function filterOutput(uid: string, isExempt: boolean, adminPorts: readonly number[]): readonly string[] {
  const others = isExempt ? `meta skuid != ${uid} ` : ''
  return [
    ...(isExempt ? notToItself(uid) : []),
    ...(adminPorts.length === 0
      ? []
      : [`oifname "lo" tcp dport ${set(adminPorts)} ${others}reject with tcp reset`]),
    'oifname "lo" accept',
    'ip daddr 127.0.0.0/8 accept',
    'ip6 daddr ::1 accept',
    ...(isExempt ? exemption(uid, 'accept') : []),
    // Without neighbour discovery, IPv6 addresses are unreachable.
    'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } ip6 hoplimit 255 accept',
    ...(isExempt ? [`ct direction original meta skuid != ${uid} reject with icmpx admin-prohibited`] : []),
    isExempt ? 'ct state established accept' : 'ct state established ct direction reply accept',
    'meta l4proto tcp reject with tcp reset',
    'reject with icmpx type admin-prohibited',
  ]
}

/** Returns the rules that drop connections from outside to the listeners, which serve only this machine or pod. */
function filterInput(adminPorts: readonly number[]): readonly string[] {
  const outside = adminPorts.filter((port) => port !== POD_PORTS.health)
  return [
    `iifname != "lo" tcp dport ${set([tls, http, other, dns, proxy, ...outside])} drop`,
    `iifname != "lo" udp dport ${dns} drop`,
  ]
}

function exemption(uid: string, verdict: string): readonly string[] {
  return [
    `meta skuid ${uid} meta l4proto != tcp ${verdict}`,
    `meta skuid ${uid} tcp sport != ${PROBES} ${verdict}`,
  ]
}

/**
 * Returns the rules that reject the proxy's own packets to its listeners, so that its resolver and dialer retry from
 * another port.
 */
function notToItself(uid: string): readonly string[] {
  const captured = set([tls, http, other, dns])
  return ['ip daddr 127.0.0.0/8', 'ip6 daddr ::1'].flatMap((own) => [
    `meta skuid ${uid} ${own} udp dport ${dns} reject with icmpx port-unreachable`,
    `meta skuid ${uid} ${own} tcp sport != ${PROBES} tcp dport ${captured} reject with tcp reset`,
  ])
}

function chain(name: string, hook: string, rules: readonly string[]): readonly string[] {
  return [`  chain ${name} {`, `    ${hook}`, ...rules.map((rule) => `    ${rule}`), '  }']
}

function set(ports: readonly number[]): string {
  return `{ ${[...ports].sort((a, b) => a - b).join(', ')} }`
}
