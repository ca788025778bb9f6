import type { Decision } from '../../core/decision/decision.ts'
import type { Verdict } from '../../core/decision/vocabulary.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'

/** What a gateway says about a host that no connector owns. */
export function decideUnowned({ gateway }: Snapshot, host: string, port: number): Decision {
  const { egress, level } = gateway
  const listed = egress.allowedHosts.find((pattern) => matchesHost(pattern, host))
  if (listed !== undefined) {
    return plainDecision('allow', 'allow', `${host} is let through by egress.allowedHosts (${listed}).`)
  }
  if (egress.tcp.some((rule) => rule.port === port && matchesHost(rule.host, host))) {
    return plainDecision('allow', 'allow', `${host}:${port} is let through by egress.tcp.`)
  }
  if (egress.unmatchedHosts === 'tunnel') {
    return plainDecision('allow', 'allow', 'The gateway lets hosts through that no connector owns.')
  }
  const why = `No connector owns ${host}:${port}. Add a connector with this domain and port, or list the host in egress.allowedHosts of the gateway.`
  if (level !== 'monitor') return plainDecision('deny', 'deny', why)
  return {
    ...plainDecision('allow', 'deny', `Enforcement level monitor lets it pass. ${why}`),
    source: 'level',
  }
}

/** A decision that no permission and no policy took. */
export function plainDecision(verdict: Verdict, would: Verdict, reason: string): Decision {
  return {
    verdict,
    would,
    reason,
    source: 'default',
    permission: null,
    permissionPattern: null,
    policies: [],
    rules: [],
    riskScore: 0,
    riskFactors: [],
    approverGroups: [],
  }
}

function matchesHost(pattern: string, host: string): boolean {
  const wanted = pattern
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[|\]$/g, '')
  if (!wanted.startsWith('*.')) return wanted === host
  return host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1
}
