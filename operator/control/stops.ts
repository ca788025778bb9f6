import type { GatewaySpec } from '../../core/crd/schemas.ts'
import { normaliseScope } from '../../core/decision/kill-switch.ts'
import type { KillEntry } from '../../core/wire/kill.ts'
import type { KillRelayBody } from '../../core/wire/operator.ts'
import { type KubeObject, keyOf } from '../kube/objects.ts'

/** What one object of the cluster stops right now. */
export type Stop = KillRelayBody

export type GatewayObject = KubeObject & { readonly spec: Partial<Pick<GatewaySpec, 'killSwitch'>> }
export type ConfigMapObject = KubeObject & { readonly data?: Readonly<Record<string, string>> }

const NO_REASON = 'no reason given'
const SCOPE = /^((connector|agent|gateway):)?[^\s:]+$/i

/** `spec.killSwitch` of a Gateway. `all` is all of this Gateway: a tenant's object must not stop another's. */
export function stopOfGateway(gateway: GatewayObject): Stop {
  const name = keyOf(gateway)
  const { active = false, reason = '', scopes = ['all'] } = gateway.spec.killSwitch ?? {}
  const own = scopes.map((scope) => {
    const text = normaliseScope(scope)
    return text === 'all' ? `gateway:${name}` : text
  })
  return {
    source: `manifest:${name}`,
    scopes: active ? unique(own) : [],
    reason: active ? reason.trim() || NO_REASON : '',
    by: `kubernetes Gateway ${name}`,
    revision: revisionOf(gateway.metadata),
  }
}

/** A Gateway that is not there stops nothing. `resourceVersion` is of the list in which it was missing. */
export function stopOfNothing(source: string, resourceVersion: string): Stop {
  return { source, scopes: [], reason: '', by: 'kubernetes', revision: revisionOf({ resourceVersion }) }
}

/**
 * The emergency ConfigMap: `active`, `reason`, `scopes` (separated by commas or white space, empty = all). In an
 * emergency a slip of the pen must not be no stop: an `active` that is no clear no stops, and a scope that is none
 * becomes `all`.
 */
export function stopOfConfigMap(map: ConfigMapObject): Stop & { readonly problems: readonly string[] } {
  const { active = '', reason = '', scopes = '' } = map.data ?? {}
  const isActive = !['', 'false', 'no', 'off', '0', 'inactive'].includes(active.trim().toLowerCase())
  const given = scopes.split(/[\s,]+/).filter((scope) => scope !== '')
  const wrong = given.filter((scope) => !SCOPE.test(scope))
  const understood = given.filter((scope) => SCOPE.test(scope)).map(normaliseScope)
  const wanted = given.length === 0 || wrong.length > 0 ? ['all', ...understood] : understood
  return {
    source: 'configmap',
    scopes: isActive ? unique(wanted) : [],
    reason: isActive ? reason.trim() || NO_REASON : '',
    by: `kubernetes ConfigMap ${keyOf(map)}`,
    revision: revisionOf(map.metadata),
    problems: wrong.map(
      (scope) =>
        `${JSON.stringify(scope)} is no scope (all, connector:NAME, agent:NAME, gateway:NAME or a bare name): everything is stopped instead`,
    ),
  }
}

/** Whether a replica holds exactly this of the source. */
export function isInForce(stop: Stop, effective: readonly KillEntry[]): boolean {
  const latched = effective.filter(({ source }) => source === stop.source)
  return (
    latched.length === stop.scopes.length &&
    latched.every(({ scope, reason }) => stop.scopes.includes(scope) && reason === stop.reason)
  )
}

/** The API server counts up; one that does not is taken as it comes. */
function revisionOf({ resourceVersion }: { readonly resourceVersion: string }): number {
  const revision = Number(resourceVersion)
  return Number.isSafeInteger(revision) ? revision : 0
}

function unique(scopes: readonly string[]): string[] {
  return [...new Set(scopes)]
}
