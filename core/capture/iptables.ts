import { POD_PORTS, PROBE_PORTS } from './pod-contract.ts'

/**
 * Capture rules for gVisor, whose network stack has the legacy interface of iptables and no nf_tables. Its iptables has
 * no conntrack or comment module, no inverted ports, protocols or interfaces, no effective REJECT, and accepts at most
 * 8 KiB for a table.
 */

const PROBES = `${PROBE_PORTS.first}:${PROBE_PORTS.last}`
/**
 * Highest port on which a server of the agent can answer connections from outside the pod. The kernel assigns higher
 * ports to outgoing connections.
 */
const LAST_SERVER_PORT = 32_767
const { tls, http, other, dns, health } = POD_PORTS

/**
 * Returns the IPv4 rules for `iptables-legacy-restore`. `uid` is the user whose packets may leave, or a shell variable.
 */
export function iptablesRules(uid: string): string {
  return table('nat', 'ACCEPT', natOutput(uid)) + table('filter', 'DROP', filterOutput(uid))
}

/**
 * Returns the rules for `ip6tables-legacy-restore`. The rules close IPv6, because gVisor does not deliver redirected
 * IPv6 connections.
 */
export function ip6tablesRules(): string {
  return table('filter', 'DROP', ['-o lo -j ACCEPT'])
}

/**
 * Returns the rules that redirect connections. Connections of the proxy are exempt, except those from its probe ports.
 */
function natOutput(uid: string): readonly string[] {
  const tcp = (match: string) => [
    `-p tcp ${match}--dport 443 -j REDIRECT --to-ports ${tls}`,
    `-p tcp ${match}--dport 80 -j REDIRECT --to-ports ${http}`,
    `-p tcp ${match}-j REDIRECT --to-ports ${other}`,
  ]
  return [
    '-o lo -j ACCEPT',
    ...tcp(`--sport ${PROBES} -m owner --uid-owner ${uid} `),
    `-m owner --uid-owner ${uid} -j ACCEPT`,
    ...['udp', 'tcp'].map((protocol) => `-p ${protocol} --dport 53 -j REDIRECT --to-ports ${dns}`),
    ...tcp(''),
  ]
}

/**
 * Returns the rules that restrict egress. The rules drop packets of the proxy to the proxy's own listeners, so that the
 * proxy cannot continue a redirected flow of the agent (as in the nftables rules). Without conntrack, TCP packets from
 * ports up to `LAST_SERVER_PORT` count as answers of the agent's servers. The agent cannot use this exception for its
 * own connections, because the table `nat` redirects every connection that the agent opens, from any port, before the
 * table `filter` applies.
 */
function filterOutput(uid: string): readonly string[] {
  const own = `-m owner --uid-owner ${uid}`
  return [
    `-d 127.0.0.0/8 -p tcp --sport ${PROBES} ${own} -j ACCEPT`,
    `-d 127.0.0.0/8 -p udp --dport ${dns} ${own} -j DROP`,
    ...[tls, http, other, dns].map((port) => `-d 127.0.0.0/8 -p tcp --dport ${port} ${own} -j DROP`),
    `-o lo -p tcp --dport ${health} -m owner ! --uid-owner ${uid} -j DROP`,
    '-o lo -j ACCEPT',
    '-d 127.0.0.0/8 -j ACCEPT',
    `-p tcp --sport ${PROBES} ${own} -j DROP`,
    `${own} -j ACCEPT`,
    `-p tcp --sport 1:${LAST_SERVER_PORT} -j ACCEPT`,
  ]
}

function table(name: 'nat' | 'filter', output: 'ACCEPT' | 'DROP', rules: readonly string[]): string {
  const other = name === 'nat' ? ['PREROUTING', 'POSTROUTING'] : ['FORWARD']
  const chains = ['INPUT', ...other].map((chain) => `:${chain} ACCEPT`)
  const lines = [`*${name}`, ...chains, `:OUTPUT ${output}`, ...rules.map((rule) => `-A OUTPUT ${rule}`)]
  return `${[...lines, 'COMMIT'].join('\n')}\n`
}

/**
 * Returns the program by which the rule setter (the init container that loads the capture rules) works under gVisor,
 * for `/bin/sh FILE UID`. The kubelet shows the last output of the program as the termination message. The program
 * closes IPv6 first, if the kernel supports it. The program's own file is the lock file of iptables. The default lock
 * file cannot be created on a read-only root file system, and gVisor locks no devices such as /dev/null.
 */
export function iptablesScript(): string {
  return [
    'uid=$1',
    'export XTABLES_LOCKFILE=$0',
    'restore() {',
    '  errors=$("$1" 2>&1) && return',
    '  errors=$(echo "$errors" | head -n 2 | tr "\\n" " ")',
    `  echo "The traffic of this pod cannot be captured: $1 failed (\${errors% }). gVisor admits the capture rules only where the node sets net-raw = \\"true\\" in runsc.toml. Set net-raw on the nodes of this RuntimeClass, or use a Gateway with interception: proxyEnv." >&2`,
    '  exit 1',
    '}',
    'if [ -e /proc/self/net/if_inet6 ]; then restore ip6tables-legacy-restore <<RULES',
    `${ip6tablesRules()}RULES`,
    'fi',
    'restore iptables-legacy-restore <<RULES',
    `${iptablesRules('$uid')}RULES`,
    '',
  ].join('\n')
}
