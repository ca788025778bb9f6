import type { GatewayState } from '../../../../core/wire/overview.ts'

type GatewayStatus = { readonly text: string; readonly tone: 'good' | 'wait' | 'bad' }

/** Returns the status of a gateway. The most severe state takes precedence. */
export function stateOf(gateway: GatewayState): GatewayStatus {
  if (gateway.stopped.some(isWhole)) return { text: 'Kill switch active', tone: 'bad' }
  if (gateway.stopped.length > 0) return { text: 'Kill switch active for a part', tone: 'bad' }
  if (!gateway.is_live)
    return { text: gateway.last_seen_at === null ? 'Not connected' : 'Stale', tone: 'wait' }
  if (!isCurrent(gateway)) return { text: 'Applying new configuration', tone: 'wait' }
  return { text: 'Enforcing', tone: 'good' }
}

/** Reports whether the scope of a kill switch includes the whole gateway. */
function isWhole(scope: string): boolean {
  return scope === 'all' || scope.startsWith('gateway:')
}

function isCurrent({ applied_version, desired_version }: GatewayState): boolean {
  return applied_version !== null && applied_version >= (desired_version ?? 0)
}

/** Describes the configuration version that the gateway has applied. */
export function configurationOf(gateway: GatewayState): string {
  const { applied_version: applied, desired_version: desired } = gateway
  if (applied === null) return 'unknown'
  return isCurrent(gateway) ? `version ${applied} (latest)` : `version ${applied} of ${desired}`
}
