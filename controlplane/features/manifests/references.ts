import * as z from 'zod'
import { PolicySpec } from '../../../core/crd/policy/policy-spec.ts'
import type { ManifestRow } from './rows.ts'

const Refs = z.looseObject({
  gatewayRefs: PolicySpec.shape.gatewayRefs,
  namespaceSelector: z.unknown().optional(),
})
/** Stored reference of an object that may apply to any Gateway. */
const ANY = '*'

export type Referring = Pick<ManifestRow, 'kind' | 'namespace' | 'name'> & {
  readonly stored: Pick<ManifestRow['stored'], 'spec'>
}

/**
 * Returns the references of an object for the database index: each referenced Gateway as `namespace/name`, and the
 * namespace of each Gateway as `namespace/`.
 */
export function storedReferences(row: Referring): readonly string[] {
  const places = placesOf(row)
  if (places === null) return [ANY]
  return [...new Set([...places, ...places.map((place) => `${namespaceOf(place)}/`)])]
}

/**
 * Returns the references to search for in the index. An object that shares a Gateway with one of `rows` has at least
 * one of these references. Returns null when every object may share a Gateway with `rows`.
 */
export function sharedReferences(rows: readonly Referring[]): readonly string[] | null {
  const places = rows.map(placesOf)
  if (places.includes(null)) return null
  return [...new Set([...places.flatMap((each) => (each ?? []).flatMap(searched)), ANY])]
}

/**
 * Returns the references to search for in the index, to find the objects of these Gateways. Each Gateway is
 * `namespace/name`.
 */
export function referencesTo(gateways: Iterable<string>): readonly string[] {
  return [...new Set([...[...gateways].flatMap(searched), ANY])]
}

function searched(place: string): readonly string[] {
  const namespace = namespaceOf(place)
  return place.endsWith('/*') ? [`${namespace}/`] : [place, `${namespace}/*`]
}

/**
 * Returns the Gateways that an object references, whether they exist or not. Each is `namespace/name`, or
 * `namespace/*` for all Gateways of a namespace. Returns null when the object may apply to any Gateway.
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
