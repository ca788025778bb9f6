import * as z from 'zod'
import { PolicySpec } from '../../../core/crd/policy/policy-spec.ts'
import type { DesiredRow } from './store.ts'

const Refs = z.looseObject({
  gatewayRefs: PolicySpec.shape.gatewayRefs,
  namespaceSelector: z.unknown().optional(),
})
/** Stands for an object that may be for any Gateway. */
const ANY = '*'

export type Referring = Pick<DesiredRow, 'kind' | 'namespace' | 'name'> & {
  readonly stored: Pick<DesiredRow['stored'], 'spec'>
}

/**
 * Returns the references of an object as they are stored and searched: its Gateways with the namespace of each, as
 * `namespace/`.
 */
export function storedReferences(row: Referring): readonly string[] {
  const places = placesOf(row)
  if (places === null) return [ANY]
  return [...new Set([...places, ...places.map((place) => `${namespaceOf(place)}/`)])]
}

/**
 * Returns the stored references of which an object has at least one when it and one of these objects are for the same
 * Gateway. Null when every object may be.
 */
export function sharedReferences(rows: readonly Referring[]): readonly string[] | null {
  const places = rows.map(placesOf)
  if (places.includes(null)) return null
  return [...new Set([...places.flatMap((each) => (each ?? []).flatMap(searched)), ANY])]
}

/** Returns the stored references of objects that are for one of these Gateways, each `namespace/name`. */
export function referencesTo(gateways: Iterable<string>): readonly string[] {
  return [...new Set([...[...gateways].flatMap(searched), ANY])]
}

function searched(place: string): readonly string[] {
  const namespace = namespaceOf(place)
  return place.endsWith('/*') ? [`${namespace}/`] : [place, `${namespace}/*`]
}

/**
 * Returns the Gateways of an object, whether they exist or not: `namespace/name`, or `namespace/*` for all of a
 * namespace. Null when the object may be for any Gateway.
 */
export function placesOf(row: Referring): readonly string[] | null {
  if (row.kind === 'Gateway') return [`${row.namespace}/${row.name}`]
  const parsed = Refs.safeParse(row.stored.spec)
  if (!parsed.success || parsed.data.namespaceSelector !== undefined) return null
  const { gatewayRefs } = parsed.data
  if (gatewayRefs === undefined) return [`${row.namespace}/*`]
  return gatewayRefs.map(({ name, namespace }) => `${namespace ?? row.namespace}/${name}`)
}

function namespaceOf(place: string): string {
  return place.slice(0, place.indexOf('/'))
}
