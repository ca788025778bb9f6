import { isDeepStrictEqual } from 'node:util'
import type {
  ChangeSetBody,
  ChangeSetReply,
  PushBody,
  PushReply,
} from '../../../../core/wire/operator/operator.ts'
import { sealedPlace } from '../../../crypto/sealed-places.ts'
import type { ObjectCache } from '../object-cache.ts'
import { brokenFiles } from '../problems.ts'
import type { Referring } from '../references.ts'
import type { ManifestRow, ObjectKey, ObjectName } from '../rows.ts'
import { listObjectStates, type ObjectState, stateOf } from '../store.ts'
import { nameOf } from './apply.ts'
import type { ApplyContext } from './context.ts'

export function keyOf({ resource: { kind, metadata } }: PushBody): ObjectKey {
  return { kind, namespace: metadata.namespace ?? 'default', name: metadata.name }
}

const KIND_ORDER = ['Gateway', 'Connector', 'Permission', 'Policy']

/** Sorts Gateways before other kinds, because objects of the other kinds reference Gateways. */
export function inApplyOrder(objects: readonly PushBody[]): readonly PushBody[] {
  const rank = ({ resource }: PushBody) => KIND_ORDER.indexOf(resource.kind)
  return [...objects].sort((a, b) => rank(a) - rank(b))
}

/**
 * Removes from the change set unreadable documents that may be new, broken texts of objects in force. These objects
 * then stay in force. An unreadable document counts as the text of an object only if both are from the same file and
 * the change set does not contain the object. At most one document is removed per such object.
 */
export function explain(body: ChangeSetBody, known: readonly ObjectState[]): ChangeSetBody {
  const given = new Set([...body.objects.map(keyOf), ...(body.present ?? [])].map(nameOf))
  const hidden = known.filter(
    (row) => row.source === body.source && !given.has(nameOf(row)) && isInForce(row),
  )
  const explained = new Set<string>()
  for (const each of body.objects.filter(({ unnamed }) => unnamed !== undefined)) {
    const at = hidden.findIndex((row) => row.managedBy === each.managed_by && mayBe(each, row))
    if (at < 0) continue
    hidden.splice(at, 1)
    explained.add(nameOf(keyOf(each)))
  }
  const isLeft = (key: ObjectKey | { kind: string; namespace: string; name: string }) =>
    !explained.has(nameOf(key))
  return {
    ...body,
    objects: body.objects.filter((each) => isLeft(keyOf(each))),
    ...(body.present === undefined ? {} : { present: body.present.filter(isLeft) }),
  }
}

function mayBe({ unnamed }: PushBody, { kind }: ObjectState): boolean {
  return unnamed === 'unknown' || kind === 'Policy'
}

function isInForce({ accepted, inForce }: ObjectState): boolean {
  return accepted || inForce === 'last_good' || inForce === 'tightened'
}

/**
 * Returns the stored states of the objects with which the change set is compared. Reads the states of all
 * objects when the change set lists every object of its source or contains a document without a name;
 * otherwise only the states of the objects that the change set removes.
 */
export async function statesFor(
  { q, objects }: ApplyContext,
  body: ChangeSetBody,
): Promise<readonly ObjectState[]> {
  const isComplete = body.present !== undefined || body.objects.some(({ unnamed }) => unnamed !== undefined)
  return isComplete ? listObjectStates(q) : (await rowsOf(objects, body.removed)).map(stateOf)
}

/** Returns the rows of the objects that the change set removes. */
export async function surplusRows(
  { q, objects, reads }: ApplyContext,
  set: ChangeSetBody,
  known: readonly ObjectState[],
): Promise<readonly ManifestRow[]> {
  const broken = set.present === undefined ? new Set<string>() : await brokenFiles(q, set.source)
  const surplus = await rowsOf(objects, surplusOf(set, known, broken))
  await reads.prefetch(surplus)
  return surplus
}

async function rowsOf(objects: ObjectCache, keys: readonly ObjectName[]): Promise<readonly ManifestRow[]> {
  await objects.prefetch(keys)
  const rows = await Promise.all(keys.map((key) => objects.get(key)))
  return rows.filter((row) => row !== undefined)
}

/**
 * Returns the rows to remove: the objects listed in `removed`, and objects that the source no longer contains. Omits
 * objects of files that cannot be parsed.
 */
function surplusOf(
  { source, present, removed }: ChangeSetBody,
  known: readonly ObjectState[],
  brokenFiles: ReadonlySet<string>,
): readonly ObjectState[] {
  const gone = new Set(removed.map(nameOf))
  const kept = present === undefined ? null : new Set(present.map(nameOf))
  return known.filter((row) => {
    if (row.source !== source) return false
    if (gone.has(nameOf(row))) return true
    const isSpared = brokenFiles.has(row.managedBy) && !row.isUnnamed
    return kept !== null && !kept.has(nameOf(row)) && !isSpared
  })
}

/**
 * Returns the objects of the source that the control plane does not have. An object with another uid than the stored
 * object of the same name counts as missing, because the stored object was deleted in the cluster.
 */
export function missingOf(
  { present = [] }: ChangeSetBody,
  known: readonly ObjectState[],
  put: ReadonlyMap<string, ManifestRow>,
): ChangeSetReply['missing'] {
  const uids = new Map(known.map((row) => [nameOf(row), row.uid]))
  return present
    .filter((object) => (put.get(nameOf(object))?.uid ?? uids.get(nameOf(object))) !== object.uid)
    .map(({ kind, namespace, name }) => ({ kind, namespace, name }))
}

/** Returns the push result of an unreadable document whose earlier text stays in force. */
export function explainedReply({ problems = [] }: PushBody, version: number): PushReply {
  return {
    accepted: false,
    reasons: [...problems],
    problem: 'Invalid',
    in_force: 'last_good',
    warnings: [],
    version,
    gateways: [],
    tests: null,
    acknowledged: { acked: 0, total: 0 },
  }
}

export function referring(body: PushBody): Referring {
  return { ...keyOf(body), stored: { spec: body.resource.spec } }
}

/**
 * Reports whether a generation of the object that is newer than that of `body` was pushed before. Only objects of a
 * cluster have generations.
 */
export function isOlder(body: PushBody, known: ManifestRow): boolean {
  return body.source === 'kubernetes' && body.uid === known.uid && body.generation < known.generation
}

export function rowOfPush(
  { keyring }: ApplyContext,
  body: PushBody,
  known: ManifestRow | undefined,
): ManifestRow {
  const key = keyOf(body)
  const { uid, generation, source, managed_by: managedBy, resource, credential, problems, unnamed } = body
  const createdAt = body.created_at ?? (known?.uid === uid ? known.stored.createdAt : undefined)
  const sealed = typeof credential === 'string' ? keyring.seal(credential, sealedPlace.manifest(key)) : null
  // The operator omits the credential when it cannot read the Secret at the moment. The stored credential then stays.
  const kept = credential === undefined ? (known?.stored.credential ?? null) : sealed
  const stored = {
    spec: resource.spec ?? {},
    credential: kept,
    warnings: [],
    ...(problems === undefined ? {} : { problems }),
    ...(unnamed === undefined ? {} : { isUnnamed: true }),
    bound: boundBefore(known, resource.spec),
    ...(createdAt === undefined ? {} : { createdAt }),
    ...placeOf(body),
  }
  return { ...key, uid, generation, source, managedBy, accepted: false, reasons: [], stored }
}

/** Returns the file and lines of the manifest, if the operator reports them. */
function placeOf({ origin, lines }: PushBody): Pick<ManifestRow['stored'], 'origin' | 'lines'> {
  return { ...(origin === undefined ? {} : { origin }), ...(lines === undefined ? {} : { lines }) }
}

/**
 * Returns the Gateways to which the object was bound since its last change. Returns an empty list if the spec has
 * changed, because earlier bindings have no effect on a new spec.
 */
function boundBefore(known: ManifestRow | undefined, spec: unknown): readonly string[] {
  const isSameSpec = known !== undefined && isDeepStrictEqual(known.stored.spec, asStored(spec ?? {}))
  return isSameSpec ? (known.stored.bound ?? []) : []
}

/** Returns the value in the form in which the JSON column returns it: without undefined members. */
function asStored(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
