import { FIELD_MANAGER } from './apply.ts'
import type { KubeClient } from './client.ts'
import type { KubeObject } from './objects.ts'

/** Entry of `metadata.managedFields`: the fields that one client owns. */
export type ManagedFields = {
  readonly manager?: string
  readonly operation?: string
  readonly apiVersion?: string
  readonly subresource?: string
  readonly time?: string
  readonly fieldsType?: string
  readonly fieldsV1?: FieldSet
}
type FieldSet = { readonly [field: string]: FieldSet }

export function managedFieldsOf({ metadata }: KubeObject): readonly ManagedFields[] {
  // No validation is needed: the API server writes this field.
  return (metadata as { readonly managedFields?: readonly ManagedFields[] }).managedFields ?? []
}

/** Reports whether the operator wrote the entry by server-side apply, in any of its replicas or versions. */
function isOwn({ manager, operation, subresource = '' }: ManagedFields): boolean {
  return manager === FIELD_MANAGER && operation === 'Apply' && subresource === ''
}

/**
 * Returns the names of the other clients that own content of the object. Ignores labels and annotations of
 * other products, and the status.
 */
export function otherManagers(entries: readonly ManagedFields[]): readonly string[] {
  const others = entries.filter((entry) => !isOwn(entry) && (entry.subresource ?? '') === '')
  return others
    .filter(({ fieldsV1 = {} }) =>
      Object.entries(fieldsV1).some(
        ([field, fields]) => field !== 'f:metadata' || JSON.stringify(fields).includes('"f:chaperone.dev/'),
      ),
    )
    .map(({ manager = '' }) => manager)
}

/**
 * Reports whether another client changed content of the object. The function infers a change if another client owns
 * content, or if fields that the operator applied are gone although the operator did not write. `before` is null when
 * the object was not seen before.
 */
export function isChangedByOthers(
  before: readonly ManagedFields[] | null,
  now: readonly ManagedFields[],
): boolean {
  if (otherManagers(now).length > 0) return true
  const own = now.find(isOwn)
  const known = before?.find(isOwn)
  if (own === undefined) return known !== undefined
  return own.time === known?.time && JSON.stringify(own.fieldsV1) !== JSON.stringify(known?.fieldsV1)
}

/**
 * Makes the operator the owner of all fields, so that its next server-side apply removes the fields that
 * other clients added. Rejects with `conflict` when the object was changed since `object` was read.
 */
export async function claimFields(client: Pick<KubeClient, 'call'>, path: string, object: KubeObject) {
  const entries = managedFieldsOf(object)
  const kept = entries.filter(({ subresource = '' }) => subresource !== '')
  const claimed = entries.filter((entry) => !kept.includes(entry))
  const [first] = claimed
  if (first === undefined) return
  const own: ManagedFields = {
    manager: FIELD_MANAGER,
    operation: 'Apply',
    ...(first.apiVersion !== undefined && { apiVersion: first.apiVersion }),
    time: `${new Date().toISOString().slice(0, 19)}Z`,
    fieldsType: 'FieldsV1',
    fieldsV1: claimed.reduce<FieldSet>((all, { fieldsV1 = {} }) => merged(all, fieldsV1), {}),
  }
  await client.call({
    method: 'PATCH',
    path,
    query: { fieldManager: FIELD_MANAGER },
    contentType: 'application/json-patch+json',
    body: [
      { op: 'replace', path: '/metadata/managedFields', value: [own, ...kept] },
      { op: 'replace', path: '/metadata/resourceVersion', value: object.metadata.resourceVersion },
    ],
  })
}

function merged(one: FieldSet, other: FieldSet): FieldSet {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return Object.fromEntries(names.map((name) => [name, merged(one[name] ?? {}, other[name] ?? {})]))
}
