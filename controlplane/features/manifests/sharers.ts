import * as z from 'zod'
import { PolicySpec } from '../../../core/crd/policy/policy-spec.ts'
import { fullNameOf } from './full-name.ts'
import type { DesiredRow } from './store.ts'

const Refs = z.looseObject({
  gatewayRefs: PolicySpec.shape.gatewayRefs,
  namespaceSelector: z.unknown().optional(),
})

/**
 * Returns the Gateways of an object, whether they exist or not: `namespace/name`, or `namespace/*` for all of a
 * namespace. Null when the object may be for any Gateway.
 */
function placesOf(row: Pick<DesiredRow, 'kind' | 'namespace' | 'name' | 'stored'>): readonly string[] | null {
  if (row.kind === 'Gateway') return [fullNameOf(row)]
  const parsed = Refs.safeParse(row.stored.spec)
  if (!parsed.success || parsed.data.namespaceSelector !== undefined) return null
  const { gatewayRefs } = parsed.data
  if (gatewayRefs === undefined) return [`${row.namespace}/*`]
  return gatewayRefs.map(({ name, namespace }) => `${namespace ?? row.namespace}/${name}`)
}

/** Returns a predicate that reports whether an object and one of these rows apply to the same Gateway. */
export function sharing(rows: readonly DesiredRow[]): (row: DesiredRow) => boolean {
  const places = rows.map(placesOf)
  const isAnywhere = places.includes(null)
  const known = new Set(places.flatMap((each) => each ?? []))
  const namespaces = new Set([...known].map(namespaceOf))
  const isShared = (place: string) =>
    known.has(place) ||
    known.has(`${namespaceOf(place)}/*`) ||
    (place.endsWith('/*') && namespaces.has(namespaceOf(place)))
  return (row) => {
    const own = placesOf(row)
    return rows.length > 0 && (isAnywhere || own === null || own.some(isShared))
  }
}

function namespaceOf(place: string): string {
  return place.slice(0, place.indexOf('/'))
}
