import { createHash } from 'node:crypto'
import { secretPlace, secretValues } from '../core/crd/secrets.ts'
import type { DesiredBody, ManifestProblem, SweepBody } from '../core/wire/operator.ts'
import { duplicates, type ManifestObject, parseManifests } from './manifests.ts'

/** A manifest file as it was read; `text` is null when it could not be, and `failure` then says why. */
export type ManifestFile = { readonly file: string; readonly text: string | null; readonly failure?: string }

/** The state of the folder: per file the objects in force, and what is wrong with files right now. */
export type ManifestSet = {
  readonly objectsByFile: ReadonlyMap<string, readonly ManifestObject[]>
  readonly problems: readonly ManifestProblem[]
}

export const EMPTY_SET: ManifestSet = { objectsByFile: new Map(), problems: [] }

/**
 * The next state from the files as they are now. A file that is not good in every line keeps the objects that it
 * had when it last was; a file that is gone takes its objects with it.
 */
export function nextSet(previous: ManifestSet, files: readonly ManifestFile[]): ManifestSet {
  const objectsByFile = new Map<string, readonly ManifestObject[]>()
  const problems: ManifestProblem[] = []
  const taken: ManifestObject[] = []
  for (const file of [...files].sort((a, b) => (a.file < b.file ? -1 : 1))) {
    const parsed = readFile(file)
    const wrong = parsed.problems.length > 0 ? parsed.problems : duplicates([...taken, ...parsed.objects])
    const objects = wrong.length === 0 ? parsed.objects : lastGood(previous, file.file, taken)
    problems.push(...wrong)
    objectsByFile.set(file.file, objects)
    taken.push(...objects)
  }
  return { objectsByFile, problems }
}

/** Gateways first, because everything else names them. Secrets travel inside the Connectors that name them. */
const KIND_ORDER: readonly string[] = ['Gateway', 'Connector', 'Permission', 'Policy']

/** What the control plane should hold, in the order in which it should be told, with the place of each. */
export function desiredBodies(set: ManifestSet): Array<{ object: ManifestObject; body: DesiredBody }> {
  const objects = allObjects(set)
  const secrets = secretValues(objects.map(({ resource }) => resource))
  return objects
    .filter((object) => object.kind !== 'Secret')
    .sort((a, b) => rank(a) - rank(b) || (a.key < b.key ? -1 : 1))
    .map((object) => ({ object, body: desiredBody(object, secrets, set.problems.length > 0) }))
}

export function sweepBody(bodies: ReadonlyArray<{ object: ManifestObject; body: DesiredBody }>): SweepBody {
  const present = bodies.map(({ object: { kind, namespace, name }, body }) => ({
    kind,
    namespace,
    name,
    uid: body.uid,
  }))
  return { source: 'file', present }
}

function desiredBody(
  object: ManifestObject,
  secrets: ReadonlyMap<string, string>,
  isPartial: boolean,
): DesiredBody {
  const { metadata } = object.resource
  const resource = { ...object.resource, metadata: { ...metadata, namespace: object.namespace } }
  return {
    uid: `file:${object.key}`,
    generation: contentNumber(JSON.stringify(resource)),
    source: 'file',
    managed_by: object.file,
    resource: resource as DesiredBody['resource'],
    ...credentialOf(object, secrets, isPartial),
  }
}

/**
 * A Connector's credential, from the Secret of its own namespace. While some file cannot be read the Secret may be
 * in it: then nothing is said about the credential, and the control plane keeps the one it has.
 */
function credentialOf(
  object: ManifestObject,
  secrets: ReadonlyMap<string, string>,
  isPartial: boolean,
): Pick<DesiredBody, 'credential'> {
  if (object.resource.kind !== 'Connector') return {}
  const ref = object.resource.spec.credential?.secretRef
  if (ref === undefined) return { credential: null }
  const value = secrets.get(secretPlace(object.namespace, ref))
  if (value !== undefined) return { credential: value }
  return isPartial ? {} : { credential: null }
}

function allObjects(set: ManifestSet): ManifestObject[] {
  return [...set.objectsByFile.values()].flat()
}

function lastGood(previous: ManifestSet, file: string, taken: readonly ManifestObject[]): ManifestObject[] {
  const keys = new Set(taken.map((object) => object.key))
  return (previous.objectsByFile.get(file) ?? []).filter((object) => !keys.has(object.key))
}

function readFile(file: ManifestFile): ReturnType<typeof parseManifests> {
  if (file.text !== null) return parseManifests(file.file, file.text)
  const message = `the file cannot be read: ${file.failure ?? 'unknown reason'}`
  return { objects: [], problems: [{ file: file.file, line: null, message }] }
}

function rank(object: ManifestObject): number {
  return KIND_ORDER.indexOf(object.kind)
}

/** A folder has no generations: the content's own number makes an unchanged file look unchanged after a restart. */
function contentNumber(text: string): number {
  return Number.parseInt(createHash('sha256').update(text).digest('hex').slice(0, 12), 16)
}
