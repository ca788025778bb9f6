import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Decision } from './decision.ts'
import type { Verdict } from './vocabulary.ts'

/** May a host that no connector owns be reached without being governed? The level `monitor` lets it pass and says so. */
export function decideUnowned({ gateway }: Snapshot, host: string, port: number): Decision {
  const { egress, level } = gateway
  const listed = egress.allowedHosts.find((pattern) => matchesHost(pattern, host))
  if (listed !== undefined) return passes(`${host} is let through by egress.allowedHosts (${listed}).`)
  if (egress.tcp.some((rule) => rule.port === port && matchesHost(rule.host, host))) {
    return passes(`${host}:${port} is let through by egress.tcp.`)
  }
  if (egress.unmatchedHosts === 'tunnel') {
    return passes('The gateway lets hosts through that no connector owns.')
  }
  const why = `No connector owns ${host}:${port}. Add a connector with this domain and port, or list the host in egress.allowedHosts of the gateway.`
  if (level === 'monitor') {
    return plainDecision('allow', 'deny', `Enforcement level monitor lets it pass. ${why}`, 'level')
  }
  return plainDecision('deny', 'deny', why, 'default')
}

/** Is the host and port listed in `egress.tcp` with `allowPrivateAddresses`, so that it may lie inside the network? */
export function mayBePrivate({ gateway }: Snapshot, host: string, port: number): boolean {
  return gateway.egress.tcp.some(
    (rule) => rule.allowPrivateAddresses && rule.port === port && matchesHost(rule.host, host),
  )
}

/** A decision that no permission or policy took: about a host, or a request that cannot be read. */
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
  const wanted = pattern
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[|\]$/g, '')
  if (!wanted.startsWith('*.')) return wanted === host
  return host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1
}
