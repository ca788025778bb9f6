import type { Decision } from '../../core/decision/decision.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import { plainDecision } from './deciding.ts'

/** May a host that no connector owns be reached without being governed? The level `monitor` lets it pass and says so. */
export function decideUnowned(snapshot: Snapshot, host: string, port: number): Decision {
  const { egress, level } = snapshot.gateway
  const listed = egress.allowedHosts.find((pattern) => matchesHost(pattern, host))
  if (listed !== undefined) {
    return plainDecision(
      'allow',
      'allow',
      `${host} is let through by egress.allowedHosts (${listed}).`,
      'default',
    )
  }
  if (egress.tcp.some((rule) => rule.port === port && matchesHost(rule.host, host))) {
    return plainDecision('allow', 'allow', `${host}:${port} is let through by egress.tcp.`, 'default')
  }
  if (egress.unmatchedHosts === 'tunnel') {
    return plainDecision(
      'allow',
      'allow',
      'The gateway lets hosts through that no connector owns.',
      'default',
    )
  }
  const why = `No connector owns ${host}:${port}. Add a connector with this domain and port, or list the host in egress.allowedHosts of the gateway.`
  if (level === 'monitor') {
    return plainDecision('allow', 'deny', `Enforcement level monitor lets it pass. ${why}`, 'level')
  }
  return plainDecision('deny', 'deny', why, 'default')
}

function matchesHost(pattern: string, host: string): boolean {
  const wanted = pattern
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[|\]$/g, '')
  if (!wanted.startsWith('*.')) return wanted === host
  return host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1
}
