import * as z from 'zod'
import { PolicySpec } from '../../../../core/crd/policy/policy-spec.ts'
import { labelsOf } from '../../../db/namespaces.ts'
import { type Binding, bindGateways, bindSelected, namespaceOf } from '../../gateways/binding.ts'
import { type ApplyContext, isOfPlatform, type ManifestObject, namesOf } from '../apply/context.ts'
import type { Wanted } from './policy-record.ts'

/**
 * Binds a policy to Gateways. `gatewayRefs` names the Gateways; the platform team can select them by
 * `namespaceSelector` instead. When a policy has neither field, the policy of a tenant applies to the Gateways of its
 * namespace, and a policy of the platform team or of a manifests folder applies to all Gateways and to API v1.
 * Policies of the platform team apply even at Gateways whose `allowedNamespaces` exclude their namespace.
 */
export async function bindPolicy(context: ApplyContext, object: ManifestObject<'Policy'>): Promise<Binding> {
  const { q, reads } = context
  const { namespace, spec, source, boundBefore } = object
  const { gatewayRefs, namespaceSelector } = LEGIBLE_REFS.parse(spec)
  const isPlatform = isOfPlatform(context, object)
  if (isPlatform && gatewayRefs === undefined && namespaceSelector !== undefined) {
    const rows = await reads.allGateways()
    return bindSelected(rows, namespaceSelector, await labelsOf(q, [...new Set(rows.map(namespaceOf))]))
  }
  if (gatewayRefs === undefined && (source === 'file' || isPlatform)) return EVERYWHERE
  const labels = await reads.labels(namespace)
  const asking = { kind: 'policies', namespace, labels, boundBefore, isPlatform } as const
  return bindGateways(await reads.gateways(namespace, gatewayRefs), asking, gatewayRefs)
}

export function misplacedSelector(context: ApplyContext, object: ManifestObject<'Policy'>): string | null {
  if (object.spec.namespaceSelector === undefined || isOfPlatform(context, object)) return null
  return `spec.namespaceSelector is for Policies in a namespace of the platform team, and ${object.namespace} is not such a namespace; name Gateways in spec.gatewayRefs`
}

const EVERYWHERE: Binding = { gateways: [], lost: [], bound: [], reasons: [], problem: null }

/** Reports whether no Gateway is bound to the policy, so that the policy has no effect. */
export function isUnbound({ gateways, lost, problem }: Binding): boolean {
  return problem !== null && gateways.length + lost.length === 0
}

/** Reports whether every Gateway that was bound to the policy has stopped admitting the policy. */
export function isLost({ gateways, lost }: Binding): boolean {
  return gateways.length === 0 && lost.length > 0
}

/** Returns the names of the Gateways to which the policy is bound. Null means all Gateways. */
export function boundNames({ gateways, lost }: Binding): readonly string[] | null {
  return gateways.length + lost.length === 0 ? null : namesOf(gateways)
}

export function idsOf({ gateways, lost }: Binding): Pick<Wanted, 'gatewayIds' | 'lostGatewayIds'> {
  const lostGatewayIds = lost.map(({ id }) => id)
  return { gatewayIds: [...gateways.map(({ id }) => id), ...lostGatewayIds], lostGatewayIds }
}

/** Parses the Gateway references of valid and refused manifests. Unreadable references count as absent. */
const LEGIBLE_REFS = z
  .looseObject({
    gatewayRefs: PolicySpec.shape.gatewayRefs.catch(undefined),
    namespaceSelector: PolicySpec.shape.namespaceSelector.catch(undefined),
  })
  .catch({})
