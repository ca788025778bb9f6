import { createHash } from 'node:crypto'
import { manifestOrigin } from '../../core/crd/manifests/manifest-origin.ts'
import { API_VERSION } from '../../core/crd/schemas.ts'
import { secretPlace, secretValues } from '../../core/crd/secrets.ts'
import type { ManifestProblem, PushBody, SweepBody } from '../../core/wire/operator.ts'
import { type ManifestOrigin, UNKNOWN_ORIGIN } from '../../core/wire/origin.ts'
import { illegibleHead } from './manifest-head.ts'
import { duplicates, type ManifestObject, parseManifests } from './manifests.ts'
import { type BrokenFile, type RefusedPolicy, refusedPolicies } from './refused-policies.ts'

/** A manifest file as it was read; `text` is null when it could not be, and `failure` then says why. */
export type ManifestFile = { readonly file: string; readonly text: string | null; readonly failure?: string }

/** The state of the folder: per file the objects in force, and what is wrong with files right now. */
export type ManifestSet = {
  readonly objectsByFile: ReadonlyMap<string, readonly ManifestObject[]>
  readonly problems: readonly ManifestProblem[]
  /** Policies of broken files that have no last good version here. */
  readonly refused: readonly RefusedPolicy[]
}

export const EMPTY_SET: ManifestSet = { objectsByFile: new Map(), problems: [], refused: [] }

/**
 * The next state from the files as they are now. A file that is not good in every line keeps the objects that it
 * had when it last was; a file that is gone takes its objects with it.
 */
export function nextSet(previous: ManifestSet, files: readonly ManifestFile[]): ManifestSet {
  const objectsByFile = new Map<string, readonly ManifestObject[]>()
  const problems: ManifestProblem[] = []
  const broken: Omit<BrokenFile, 'taken'>[] = []
  const taken: ManifestObject[] = []
  for (const file of [...files].sort((a, b) => (a.file < b.file ? -1 : 1))) {
    const parsed = readFile(file)
    const wrong = parsed.problems.length > 0 ? parsed.problems : duplicates([...taken, ...parsed.objects])
    const objects = wrong.length === 0 ? parsed.objects : lastGood(previous, file.file, taken)
    problems.push(...wrong)
    if (wrong.length > 0) broken.push({ ...file, heads: parsed.heads, problems: wrong, kept: objects })
    objectsByFile.set(file.file, objects)
    taken.push(...objects)
  }
  const keys = new Set(taken.map(({ key }) => key))
  return {
    objectsByFile,
    problems,
    refused: broken.flatMap((each) => refusedPolicies({ ...each, taken: keys })),
  }
}

/** Gateways first, because everything else names them. Secrets travel inside the Connectors that name them. */
const KIND_ORDER: readonly string[] = ['Gateway', 'Connector', 'Permission', 'Policy']

/** An object of the folder and where it stands. */
export type FolderItem = { readonly object: Omit<ManifestObject, 'resource'>; readonly body: PushBody }

/** What the control plane should hold, in the order in which it should be told, with the place of each. */
export function desiredBodies(set: ManifestSet): FolderItem[] {
  const objects = allObjects(set)
  const secrets = secretValues(objects.map(({ resource }) => resource))
  const readable = objects
    .filter((object) => object.kind !== 'Secret')
    .sort((a, b) => rank(a) - rank(b) || (a.key < b.key ? -1 : 1))
    .map((object) => ({ object, body: desiredBody(object, secrets, set.problems.length > 0) }))
  return [...readable, ...set.refused.map((object) => ({ object, body: refusedBody(object) }))]
}

/** A Policy that its file keeps from being used: its denial is handed over. */
function refusedBody({ key, namespace, name, file, spec, problems, unnamed }: RefusedPolicy): PushBody {
  const resource = {
    apiVersion: API_VERSION,
    kind: 'Policy' as const,
    metadata: { name, namespace },
    spec: spec ?? null,
  }
  return {
    uid: `file:${key}`,
    generation: contentNumber(JSON.stringify([resource, problems])),
    source: 'file',
    managed_by: file,
    origin: { ...UNKNOWN_ORIGIN, file },
    resource,
    problems: [...problems],
    ...(unnamed === null ? {} : { unnamed }),
  }
}

export function presentObjects(bodies: readonly FolderItem[]): SweepBody['present'] {
  return bodies.map(({ object: { kind, namespace, name }, body }) => ({
    kind,
    namespace,
    name,
    uid: body.uid,
  }))
}

function desiredBody(
  object: ManifestObject,
  secrets: ReadonlyMap<string, string>,
  isPartial: boolean,
): PushBody {
  const { metadata } = object.resource
  const resource = { ...object.resource, metadata: { ...metadata, namespace: object.namespace } }
  return {
    uid: `file:${object.key}`,
    generation: contentNumber(JSON.stringify(resource)),
    source: 'file',
    managed_by: object.file,
    origin: fileOrigin(object),
    resource: resource as PushBody['resource'],
    ...credentialOf(object, secrets, isPartial),
  }
}

/** The file of the folder, unless the manifest names the one that it was made from. */
function fileOrigin({ resource, file }: ManifestObject): ManifestOrigin {
  const origin = manifestOrigin(resource.metadata)
  return { ...origin, file: origin.file ?? file }
}

/**
 * A Connector's credential, from the Secret of its own namespace. While some file cannot be read the Secret may be
 * in it: then nothing is said about the credential, and the control plane keeps the one it has.
 */
function credentialOf(
  object: ManifestObject,
  secrets: ReadonlyMap<string, string>,
  isPartial: boolean,
): Pick<PushBody, 'credential'> {
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
  return { objects: [], problems: [{ file: file.file, line: null, message }], heads: [illegibleHead(1)] }
}

function rank(object: ManifestObject): number {
  return KIND_ORDER.indexOf(object.kind)
}

/** A folder has no generations: the content's own number makes an unchanged file look unchanged after a restart. */
function contentNumber(text: string): number {
  return Number.parseInt(createHash('sha256').update(text).digest('hex').slice(0, 12), 16)
}
