import { POD_PORTS, PROBE_PORTS } from './pod-contract.ts'

export type CaptureOptions = {
  /**
   * Whose packets may leave: a uid; `define`, for a file that is loaded with `nft -D proxy_uid=UID -f FILE`; or
   * `nobody`, where what leaves does so through another namespace.
   */
  readonly proxyUid: number | 'define' | 'nobody'
  /** Loopback ports that only the proxy itself may open. Others are told that they are closed. */
  readonly adminPorts?: readonly number[]
}

/** The one table that is ours. Loading the rules again replaces it whole, in one transaction. */
export const CAPTURE_TABLE = 'inet chaperone'

/** The file in the image of the rule setter: `nft -D proxy_uid=UID -f FILE`. */
export function podRules(): string {
  return captureRules({ proxyUid: 'define', adminPorts: [POD_PORTS.health] })
}

const PROBES = `${PROBE_PORTS.first}-${PROBE_PORTS.last}`
const { tls, http, other, dns, proxy } = POD_PORTS

/**
 * The rules of nftables that send everything to the proxy and let nothing else out: IPv4 and IPv6 in one table,
 * because what one of them forgot would leave by the other. Text for `nft -f`.
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

/** Where connections land. The proxy's own pass, but those from its probe ports: they are treated like the agent's. */
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
 * What may leave. A redirected packet still has its first way out noted, so the loopback addresses are named beside
 * the loopback device. Where a conversation goes is decided by its first packet, and remembered for minutes by addresses
 * and ports, whoever sends the next one: neither may the proxy follow where the agent was redirected to, nor the agent
 * where the proxy went. A socket that its program has closed has no user any more, so the agent is refused by what it is
 * and not the proxy let through by what it is.
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
    // Without neighbours an IPv6 address is never reached, and never answers.
    'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } ip6 hoplimit 255 accept',
    ...(isExempt ? [`ct direction original meta skuid != ${uid} reject with icmpx admin-prohibited`] : []),
    isExempt ? 'ct state established accept' : 'ct state established ct direction reply accept',
    'meta l4proto tcp reject with tcp reset',
    'reject with icmpx type admin-prohibited',
  ]
}

/** The listeners are for this machine: nobody outside may use them as a way in. */
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

/** The proxy's own packets to its listeners: its resolver and whoever dials try again from another port. */
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
