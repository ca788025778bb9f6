import type { GatewaySpec } from '../../core/crd/gateway/gateway-spec.ts'
import { killScopesOf } from '../../core/crd/kill-scopes.ts'
import {
  EMERGENCY_SOURCE,
  gatewaySource,
  namespaceOf,
  namespaceSource,
  widestScope,
} from '../../core/decision/kill-switch/kill-reach.ts'
import {
  isKillScope,
  KILL_SCOPE_FORMS,
  normaliseScope,
  parseKillScope,
} from '../../core/decision/kill-switch/kill-switch.ts'
import { storableText } from '../../core/storable.ts'
import type { KillEntry } from '../../core/wire/gateway/kill.ts'
import { type KillRelayBody, RELAYED_KILL_LIMITS } from '../../core/wire/operator/operator.ts'
import { type KubeObject, keyOf } from '../kube/objects.ts'

/** A kill switch that one object of the cluster declares, as the operator relays it to the control plane. */
export type RelayedKillSwitch = KillRelayBody

export type GatewayObject = KubeObject & { readonly spec: Partial<Pick<GatewaySpec, 'killSwitch'>> }
export type ConfigMapObject = KubeObject & { readonly data?: Readonly<Record<string, string>> }

const NO_REASON = 'no reason given'

/** Returns the kill switch in `spec.killSwitch` of a Gateway. */
export function killSwitchOfGateway(gateway: GatewayObject): RelayedKillSwitch {
  const name = keyOf(gateway)
  const source = gatewaySource(name)
  const { active = false, reason = '', ...stated } = gateway.spec.killSwitch ?? {}
  return {
    source,
    scopes: active ? unique(killScopesOf(stated).map((scope) => scopeFrom(source, scope))) : [],
    reason: active ? reason.trim() || NO_REASON : '',
    by: `kubernetes Gateway ${name}`,
    revision: revisionOf(gateway.metadata),
  }
}

/**
 * Returns the kill switch of a deleted Gateway, without scopes and thus inactive. `resourceVersion` is that of the
 * informer cache or list that no longer contains the Gateway.
 */
export function clearedKillSwitch(source: string, resourceVersion: string): RelayedKillSwitch {
  return { source, scopes: [], reason: '', by: 'kubernetes', revision: revisionOf({ resourceVersion }) }
}

/**
 * Returns the kill switch of an emergency ConfigMap, from the keys `active`, `reason` and `scopes` (separated by commas
 * or white space; empty: all). The ConfigMap of the installation's namespace applies to the whole installation, any
 * other ConfigMap to the Gateways and agents of its namespace. Returns null without `active`, because the operator
 * creates the ConfigMap empty. Typos must not disable a kill switch in an emergency. Therefore every value of `active`
 * activates the kill switch, except the empty value, `false`, `no`, `off`, `0` and `inactive`; and an invalid scope, or
 * more scopes than the control plane accepts, become the widest scope. A long reason is truncated.
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
          `${JSON.stringify(scope)} ${whyWrong(isForeign(scope), namespace)}; the kill switch applies to ${widest} instead`,
      ),
      ...(isTooMany
        ? [`more than ${RELAYED_KILL_LIMITS.scopes} scopes; the kill switch applies to ${widest} instead`]
        : []),
    ],
  }
}

/**
 * Reports whether the text is a scope of a ConfigMap. A colon in the name is more likely a typo (`connector:agent:bot`)
 * than a name, and such a scope would match nothing.
 */
function isScope(scope: string): boolean {
  const isPlain = !parseKillScope(scope).name.includes(':')
  return isPlain && isKillScope(scope) && scope.length <= RELAYED_KILL_LIMITS.scopeLength
}

/**
 * Returns the reason in the form that the control plane stores, because `isInForce` compares reasons. Control
 * characters become blanks, because JSON needs six characters for each, and every gateway receives the reason once for
 * each scope.
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
    ? `is outside namespace ${namespace} of this ConfigMap`
    : `is not a scope: a scope ${KILL_SCOPE_FORMS}, and can have at most ${RELAYED_KILL_LIMITS.scopeLength} characters`
}

function scopeFrom(source: string, scope: string): string {
  const text = normaliseScope(scope)
  return text === 'all' ? widestScope(source) : text
}

function isOfAnother(namespace: string, scope: string): boolean {
  const { kind, name } = parseKillScope(scope)
  const named = kind === 'namespace' ? name : namespaceOf(name)
  return named !== '' && named.toLowerCase() !== namespace
}

/** Reports whether a replica holds exactly this kill switch of the source. */
export function isInForce(killSwitch: RelayedKillSwitch, effective: readonly KillEntry[]): boolean {
  const active = effective.filter(({ source }) => source === killSwitch.source)
  return (
    active.length === killSwitch.scopes.length &&
    active.every(({ scope, reason }) => killSwitch.scopes.includes(scope) && reason === killSwitch.reason)
  )
}

/**
 * Returns the resource version as a number. Returns 0 for a version that is not a number; every revision is then
 * accepted.
 */
function revisionOf({ resourceVersion }: { readonly resourceVersion: string }): number {
  const revision = Number(resourceVersion)
  return Number.isSafeInteger(revision) ? revision : 0
}

function unique(scopes: readonly string[]): string[] {
  return [...new Set(scopes)]
}
