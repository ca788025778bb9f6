import { authorityText, splitAuthority, withoutBrackets } from '../request/authority-text.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Decision } from './decision.ts'
import { knownHostText } from './known-hosts.ts'
import type { Verdict } from './vocabulary.ts'

type EgressRules = { readonly gateway: Pick<Snapshot['gateway'], 'egress' | 'level' | 'egressClosedBy'> }

/**
 * Decides whether an agent may reach a host that no Connector owns. Denies every host if `egressClosedBy` is set.
 * Otherwise the level `monitor` allows every host and states the decision of full enforcement in `would`.
 */
export function decideUnowned({ gateway }: EgressRules, host: string, port: number): Decision {
  const { egress, level, egressClosedBy } = gateway
  if (egressClosedBy !== undefined) return plainDecision('deny', 'deny', egressClosedBy, 'default')
  const entries = egress.allowedHosts.filter((entry) => matchesHost(readAllowed(entry).host, host))
  const listed = entries.find((entry) => readAllowed(entry).port === port)
  if (listed !== undefined) return passes(`${host}:${port} is allowed by egress.allowedHosts (${listed}).`)
  if (egress.tcp.some((rule) => rule.port === port && matchesHost(rule.host, host))) {
    return passes(`${host}:${port} is allowed by egress.tcp.`)
  }
  if (egress.unmatchedHosts === 'tunnel') {
    return passes('The gateway allows hosts without a connector.')
  }
  const why = `No connector owns ${host}:${port}. ${remedyFor(entries, host, port)}`
  if (level === 'monitor') {
    return plainDecision('allow', 'deny', `Enforcement level monitor allows the request. ${why}`, 'level')
  }
  return plainDecision('deny', 'deny', why, 'default')
}

/** Reports whether `egress.allowedHosts` lists the host with any port. */
export function isListedHost({ gateway }: Snapshot, host: string): boolean {
  return gateway.egress.allowedHosts.some((entry) => matchesHost(readAllowed(entry).host, host))
}

/**
 * Returns the entry of `egress.allowedHosts` that lists the host with another port. Undefined if the host is allowed
 * on this port, or not listed.
 */
export function entryForOtherPort(snapshot: Snapshot, host: string, port: number): string | undefined {
  if (decideUnowned(snapshot, host, port).would !== 'deny') return undefined
  return snapshot.gateway.egress.allowedHosts.find((entry) => matchesHost(readAllowed(entry).host, host))
}

/** Parses the port from the reason of a refused host; 443 if the reason contains no port. */
export function portOfUnowned(reason: string): number {
  return Number(/^No connector owns \S+:(\d{1,5})\. /.exec(reason)?.[1] ?? HTTPS_PORT)
}

function remedyFor(entries: readonly string[], host: string, port: number): string {
  const entry = port === HTTPS_PORT ? host : authorityText(host, port)
  const [other] = entries
  if (other === undefined)
    return (
      knownHostText(host) ??
      `Add a connector with this domain and port, or list ${entry} in egress.allowedHosts of the gateway.`
    )
  return `egress.allowedHosts of the gateway lists ${other} for port ${readAllowed(other).port} only: list ${entry} as well, or add a connector with this domain and port.`
}

const HTTPS_PORT = 443
type AllowedHost = { readonly host: string; readonly port: number }

/**
 * Parses an entry of `egress.allowedHosts`: `host`, `host:port`, `[v6]`, `[v6]:port` or a bare IPv6 address. The
 * default port is 443.
 */
export function readAllowed(entry: string): AllowedHost {
  const { host, port } = splitAuthority(entry)
  return { host, port: port ?? HTTPS_PORT }
}

/** Reports whether `egress.tcp` lists the host and port with `allowPrivateAddresses`. */
export function mayBePrivate({ gateway }: Snapshot, host: string, port: number): boolean {
  return gateway.egress.tcp.some(
    (rule) => rule.allowPrivateAddresses && rule.port === port && matchesHost(rule.host, host),
  )
}

/** Returns a decision to which no permission or policy applies, for example about a host or an unreadable request. */
export function plainDecision(
  verdict: Verdict,
  would: Verdict,
  reason: string,
  source: Decision['source'],
): Decision {
  return {
    verdict,
    would,
    reason,
    source,
    permission: null,
    permissionPattern: null,
    policies: [],
    rules: [],
    riskScore: 0,
    riskFactors: [],
    requiredGroups: [],
  }
}

function passes(reason: string): Decision {
  return plainDecision('allow', 'allow', reason, 'default')
}

function matchesHost(pattern: string, host: string): boolean {
  const wanted = withoutBrackets(pattern.toLowerCase().replace(/\.$/, ''))
  if (!wanted.startsWith('*.')) return wanted === host
  return host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1
}
