import { isDeepStrictEqual } from 'node:util'
import { GatewaySpec } from '../../../../core/crd/gateway/gateway-spec.ts'
import { killScopesOf } from '../../../../core/crd/kill-scopes.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { newId } from '../../../crypto/ids.ts'
import { findGatewayByName, type GatewayRow } from '../../gateways/rows.ts'
import { removeGateway, saveGateway } from '../../gateways/service.ts'
import { checkedScope } from '../../kill-switch/service.ts'
import { fullNameOf } from '../store.ts'
import {
  type Applied,
  type Applier,
  type ApplyContext,
  accepted,
  MANIFESTS_ACTOR,
  type ManifestObject,
  refused,
} from './context.ts'

export const gatewayApplier: Applier<'Gateway'> = {
  async apply(context, object) {
    const scopes = killScopes(object)
    if (!Array.isArray(scopes)) return scopes
    const row = await findGatewayByName(context.q, object.fullName)
    const isChanged = row === undefined || !isSame(row, object)
    if (isChanged) {
      context.reads.gatewayChanged(object.fullName, { isBinding: isBindingChanged(row, object) })
      await write(context, object, row)
    }
    const isKillChanged = await latch(context, object, scopes)
    return accepted({ changed: isChanged || isKillChanged, gateways: [object.fullName] })
  },

  async inForce({ q }, key) {
    return (await findGatewayByName(q, fullNameOf(key))) === undefined ? 'nothing' : 'last_good'
  },

  async remove(context, key) {
    const { q, orgId, killSwitch, writes } = context
    await writes.flush()
    const fullName = fullNameOf(key)
    await killSwitch.replaceSource(q, {
      source: `manifest:${fullName}`,
      scopes: [],
      reason: '',
      by: 'manifest',
    })
    const row = await findGatewayByName(q, fullName)
    if (row === undefined) return false
    context.reads.gatewayDeleted(fullName)
    await removeGateway(q, row)
    const details = { change: 'gateway.removed', gateway: fullName, managed_by: row.managedBy }
    writes.record({ orgId, actor: MANIFESTS_ACTOR, type: 'gateway.updated', details })
    return true
  },
}

/**
 * Replaces the kill switches that the Gateway manifest of a folder sets. Does nothing in a cluster: there, each
 * operator replica reports kill switches to every replica of the control plane, and a push that was queued earlier
 * must not revert a kill switch that was reported since.
 */
async function latch(
  { q, killSwitch, writes }: ApplyContext,
  { fullName, source, spec, managedBy }: ManifestObject<'Gateway'>,
  scopes: readonly string[],
): Promise<boolean> {
  if (source === 'kubernetes') return false
  await writes.flush()
  const reason = spec.killSwitch?.reason ?? `Set in spec.killSwitch of Gateway ${fullName}`
  return killSwitch.replaceSource(q, { source: `manifest:${fullName}`, scopes, reason, by: managedBy })
}

async function write(
  { q, orgId, writes }: ApplyContext,
  { fullName, spec, source, managedBy }: ManifestObject<'Gateway'>,
  row: GatewayRow | undefined,
): Promise<void> {
  const level = spec.enforcementLevel
  const details = {
    change: 'gateway.applied',
    gateway: fullName,
    managed_by: managedBy,
    level,
    previous: row?.spec.enforcementLevel ?? null,
  }
  const type = row === undefined ? 'gateway.created' : 'gateway.updated'
  const wanted = { id: row?.id ?? newId('gateway'), orgId, name: fullName, spec, source, managedBy }
  await saveGateway(q, wanted, { actor: MANIFESTS_ACTOR, type, details }, writes.record)
}

/**
 * Reports whether the Gateway is new, or whether the namespaces that it admits have changed. No other field of a
 * Gateway affects which objects apply at the Gateway.
 */
function isBindingChanged(row: GatewayRow | undefined, { spec }: ManifestObject<'Gateway'>): boolean {
  if (row === undefined) return true
  return !isDeepStrictEqual(row.spec.allowedNamespaces, GatewaySpec.parse(spec).allowedNamespaces)
}

function isSame(row: GatewayRow, object: ManifestObject<'Gateway'>): boolean {
  return (
    row.source === object.source &&
    row.managedBy === object.managedBy &&
    isDeepStrictEqual(row.spec, GatewaySpec.parse(object.spec))
  )
}

function killScopes({ spec, fullName }: ManifestObject<'Gateway'>): string[] | Applied {
  if (spec.killSwitch?.active !== true) return []
  try {
    return killScopesOf(spec.killSwitch).map((scope) => scopeInGateway(scope, fullName))
  } catch (error) {
    if (!(error instanceof ChaperoneError)) throw error
    return refused({ reasons: [`spec.killSwitch.scopes: ${error.message}`], problem: 'Invalid' })
  }
}

/**
 * Converts the scope `all` to the scope of this gateway, because the manifest of one tenant must not stop agents of
 * other tenants.
 */
function scopeInGateway(scope: string, gateway: string): string {
  const checked = checkedScope(scope)
  return checked === 'all' ? `gateway:${gateway}` : checked
}
