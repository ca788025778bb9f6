import type { GatewaySpec } from '../../core/crd/schemas.ts'
import {
  EMERGENCY_SOURCE,
  gatewaySource,
  namespaceOf,
  namespaceSource,
  widestScope,
} from '../../core/decision/kill-switch/kill-reach.ts'
import { isKillScope, normaliseScope } from '../../core/decision/kill-switch/kill-switch.ts'
import { storableText } from '../../core/storable.ts'
import type { KillEntry } from '../../core/wire/gateway/kill.ts'
import { type KillRelayBody, RELAYED_KILL_LIMITS } from '../../core/wire/operator.ts'
import { type KubeObject, keyOf } from '../kube/objects.ts'

/** What one object of the cluster stops right now. */
export type RelayedKillSwitch = KillRelayBody

export type GatewayObject = KubeObject & { readonly spec: Partial<Pick<GatewaySpec, 'killSwitch'>> }
export type ConfigMapObject = KubeObject & { readonly data?: Readonly<Record<string, string>> }

const NO_REASON = 'no reason given'
const SCOPE = /^((connector|agent|gateway|namespace):)?[^\s:]+$/i

/** `spec.killSwitch` of a Gateway. */
export function killSwitchOfGateway(gateway: GatewayObject): RelayedKillSwitch {
  const name = keyOf(gateway)
  const source = gatewaySource(name)
  const { active = false, reason = '', scopes = ['all'] } = gateway.spec.killSwitch ?? {}
  return {
    source,
    scopes: active ? unique(scopes.map((scope) => scopeFrom(source, scope))) : [],
    reason: active ? reason.trim() || NO_REASON : '',
    by: `kubernetes Gateway ${name}`,
    revision: revisionOf(gateway.metadata),
  }
}

/** A Gateway that is not there stops nothing. `resourceVersion` is of the list in which it was missing. */
export function clearedKillSwitch(source: string, resourceVersion: string): RelayedKillSwitch {
  return { source, scopes: [], reason: '', by: 'kubernetes', revision: revisionOf({ resourceVersion }) }
}

/**
 * An emergency ConfigMap: `active`, `reason`, `scopes` (separated by commas or white space, empty = all). The one of the
 * installation's namespace stops anything, another one the Gateways and agents of its namespace. Null while it does not
 * say whether it is active: the operator makes it empty. In an emergency a slip of the pen must not be no stop: an
 * `active` that is no clear no stops, and a scope that is none becomes the widest one. So do more scopes than the control
 * plane accepts, and a long reason is cut.
 */
export function killSwitchOfConfigMap(
  map: ConfigMapObject,
  ownNamespace: string,
): (RelayedKillSwitch & { readonly problems: readonly string[] }) | null {
  const { active, reason = '', scopes = '' } = map.data ?? {}
  if (active === undefined) return null
  const { namespace = '' } = map.metadata
  const source = namespace === ownNamespace ? EMERGENCY_SOURCE : namespaceSource(namespace)
  const isActive = !['', 'false', 'no', 'off', '0', 'inactive'].includes(active.trim().toLowerCase())
  const given = scopes.split(/[\s,]+/).filter((scope) => scope !== '')
  const isForeign = (scope: string) => source !== EMERGENCY_SOURCE && isOfAnother(namespace, scope)
  const isGood = (scope: string) => isScope(scope) && !isForeign(scope)
  const wrong = given.filter((scope) => !isGood(scope))
  const understood = given.filter(isGood).map((scope) => scopeFrom(source, scope))
  const widest = widestScope(source)
  const wanted = unique(given.length === 0 || wrong.length > 0 ? [widest, ...understood] : understood)
  const isTooMany = wanted.length > RELAYED_KILL_LIMITS.scopes
  return {
    source,
    scopes: isActive ? (isTooMany ? [widest] : wanted) : [],
    reason: isActive ? shownReason(reason) : '',
    by: `kubernetes ConfigMap ${keyOf(map)}`,
    revision: revisionOf(map.metadata),
    problems: [
      ...wrong.map(
        (scope) =>
          `${JSON.stringify(scope)} ${whyWrong(isForeign(scope), namespace)}: ${widest} is stopped instead`,
      ),
      ...(isTooMany ? [`scopes: more than ${RELAYED_KILL_LIMITS.scopes}: ${widest} is stopped instead`] : []),
    ],
  }
}

function isScope(scope: string): boolean {
  return SCOPE.test(scope) && isKillScope(scope) && scope.length <= RELAYED_KILL_LIMITS.scopeLength
}

/**
 * As the control plane stores it: `isInForce` compares it. Control characters become blanks, because JSON writes each as six
 * characters, and every gateway is sent the reason once for each scope.
 */
function shownReason(reason: string): string {
  const shown = reason
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, RELAYED_KILL_LIMITS.reasonLength)
  return storableText(shown).trim() || NO_REASON
}

function whyWrong(isForeign: boolean, namespace: string): string {
  return isForeign
    ? `is of another namespace than ${namespace}, which this ConfigMap stops`
    : 'is no scope (all, connector:NAME, agent:NAME, gateway:NAME, namespace:NAME or a bare name, at most 300 characters)'
}

function scopeFrom(source: string, scope: string): string {
  const text = normaliseScope(scope)
  return text === 'all' ? widestScope(source) : text
}

function isOfAnother(namespace: string, scope: string): boolean {
  const [kind = '', name = kind] = normaliseScope(scope).split(':')
  const named = kind === 'namespace' ? name : namespaceOf(name)
  return named !== '' && named.toLowerCase() !== namespace
}

/** Whether a replica holds exactly this of the source. */
export function isInForce(stop: RelayedKillSwitch, effective: readonly KillEntry[]): boolean {
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
