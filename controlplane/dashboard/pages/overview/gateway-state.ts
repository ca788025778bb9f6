import type { GatewayState } from '../../../../core/wire/dashboard.ts'

type Said = { readonly text: string; readonly tone: 'good' | 'wait' | 'bad' }

/** What a gateway does right now, in one word; the worst first. */
export function stateOf(gateway: GatewayState): Said {
  if (gateway.stopped.some(isWhole)) return { text: 'Stopped by the kill switch', tone: 'bad' }
  if (gateway.stopped.length > 0) return { text: 'Partly stopped by the kill switch', tone: 'bad' }
  if (!gateway.is_live)
    return { text: gateway.last_seen_at === null ? 'Not connected' : 'Stale', tone: 'wait' }
  if (!isCurrent(gateway)) return { text: 'Taking over new rules', tone: 'wait' }
  return { text: 'Enforcing', tone: 'good' }
}

/** The scopes of one gateway never name another one; agents and connectors are parts of it. */
function isWhole(scope: string): boolean {
  return scope === 'all' || scope.startsWith('gateway:')
}

function isCurrent({ applied_version, desired_version }: GatewayState): boolean {
  return applied_version !== null && applied_version >= (desired_version ?? 0)
}

/** Which version of the rules it has applied. */
export function rulesOf(gateway: GatewayState): string {
  const { applied_version: applied, desired_version: desired } = gateway
  if (applied === null) return 'unknown'
  return isCurrent(gateway) ? `version ${applied}, the newest` : `version ${applied} of ${desired}`
}
