import type {
  ChangeSetBody,
  ChangeSetReply,
  PushBody,
  PushReply,
} from '../../../core/wire/operator/operator.ts'
import { nameOf } from './apply.ts'
import type { DesiredRow, ObjectKey } from './store.ts'

export function keyOf({ resource: { kind, metadata } }: PushBody): ObjectKey {
  return { kind, namespace: metadata.namespace ?? 'default', name: metadata.name }
}

const KIND_ORDER = ['Gateway', 'Connector', 'Permission', 'Policy']

/** Sorts Gateways first, because the other kinds reference them. */
export function inApplyOrder(objects: readonly PushBody[]): readonly PushBody[] {
  const rank = ({ resource }: PushBody) => KIND_ORDER.indexOf(resource.kind)
  return [...objects].sort((a, b) => rank(a) - rank(b))
}

/**
 * Removes unreadable documents that replace objects of the same file, because those objects stay in force. Removes at
 * most as many documents as the file has objects in force that are missing from it now.
 */
export function explain(body: ChangeSetBody, known: readonly DesiredRow[]): ChangeSetBody {
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

function mayBe({ unnamed }: PushBody, { kind }: DesiredRow): boolean {
  return unnamed === 'unknown' || kind === 'Policy'
}

function isInForce({ accepted, stored }: DesiredRow): boolean {
  const held = stored.outcome?.in_force
  return accepted || held === 'last_good' || held === 'tightened'
}

/**
 * Returns the rows to remove: objects listed in `removed`, and objects that the source no longer has, except those of
 * broken files.
 */
export function surplusOf(
  { source, present, removed }: ChangeSetBody,
  known: readonly DesiredRow[],
  brokenFiles: ReadonlySet<string>,
): readonly DesiredRow[] {
  const gone = new Set(removed.map(nameOf))
  const kept = present === undefined ? null : new Set(present.map(nameOf))
  return known.filter((row) => {
    if (row.source !== source) return false
    if (gone.has(nameOf(row))) return true
    const isSpared = brokenFiles.has(row.managedBy) && row.stored.isUnnamed !== true
    return kept !== null && !kept.has(nameOf(row)) && !isSpared
  })
}

/**
 * Returns the objects of the source that the control plane does not have, or has only from a deleted object of the same
 * name.
 */
export function missingOf(
  { present = [] }: ChangeSetBody,
  known: readonly DesiredRow[],
  put: ReadonlyMap<string, DesiredRow>,
): ChangeSetReply['missing'] {
  const uids = new Map(known.map((row) => [nameOf(row), row.uid]))
  return present
    .filter((object) => (put.get(nameOf(object))?.uid ?? uids.get(nameOf(object))) !== object.uid)
    .map(({ kind, namespace, name }) => ({ kind, namespace, name }))
}

/** Returns the reply for an unreadable document that replaces an object in force. */
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
