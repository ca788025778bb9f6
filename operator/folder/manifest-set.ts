import { localSourceOf } from '../../core/crd/credentials/local-source-spec.ts'
import { secretPlace, secretValues } from '../../core/crd/credentials/secrets.ts'
import { lineOfReason } from '../../core/crd/manifests/field-lines.ts'
import { manifestOrigin } from '../../core/crd/manifests/manifest-origin.ts'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import type { ManifestProblem, PushBody } from '../../core/wire/operator/operator.ts'
import { type ManifestOrigin, UNKNOWN_ORIGIN } from '../../core/wire/operator/origin.ts'
import { sha256Hex } from '../../runtime/sha256.ts'
import { DEPENDENCY_ORDER } from '../reconcile/kind-order.ts'
import { type ObservedManifest, pushBody } from '../reconcile/push-body.ts'
import { illegibleHead } from './manifest-head.ts'
import { duplicates, type ManifestObject, type ParsedManifest, parseManifests } from './manifests.ts'
import { type BrokenFile, type RefusedPolicy, refusedPolicies } from './refused-policies.ts'

/** A manifest file. `text` is null when the file cannot be read; `failure` is the reason. */
export type ManifestFile = {
  readonly file: string
  readonly text: string | null
  readonly failure?: string
  /** Reason why another user or program may change the file, such as its mode; absent if none is known. */
  readonly exposure?: string
}

/** The state of the folder: the objects in force of each file, and the problems of the files. */
export type ManifestSet = {
  readonly objectsByFile: ReadonlyMap<string, readonly ManifestObject[]>
  readonly problems: readonly ManifestProblem[]
  /** Policies of broken files without a last good version in this process. */
  readonly refused: readonly RefusedPolicy[]
}

export const EMPTY_SET: ManifestSet = { objectsByFile: new Map(), problems: [], refused: [] }

/**
 * Computes the next state from the current files. A file with a problem keeps the objects of its last good version; a
 * deleted file removes its objects.
 */
export function nextSet(previous: ManifestSet, files: readonly ManifestFile[]): ManifestSet {
  const objectsByFile = new Map<string, readonly ManifestObject[]>()
  const problems: ManifestProblem[] = []
  const broken: Omit<BrokenFile, 'taken'>[] = []
  const taken: ManifestObject[] = []
  for (const file of [...files].sort((a, b) => (a.file < b.file ? -1 : 1))) {
    const parsed = readFile(file)
    const found = parsed.problems.length > 0 ? parsed.problems : duplicates([...taken, ...parsed.objects])
    const objects = found.length === 0 ? parsed.objects : lastGood(previous, file.file, taken)
    problems.push(...found)
    if (found.length > 0) broken.push({ ...file, heads: parsed.heads, problems: found, kept: objects })
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

/** An object of the folder, and the body that pushes it. */
export type FolderItem = { readonly object: Omit<ManifestObject, 'resource'>; readonly body: PushBody }

/**
 * Returns the objects to push, in dependency order. A Secret is not pushed itself: each Connector that refers to it
 * contains its value.
 */
export function folderItems(set: ManifestSet): FolderItem[] {
  const objects = allObjects(set)
  const secrets = secretValues(objects.map(({ resource }) => resource))
  const isPartial = set.problems.length > 0
  const readable = objects
    .flatMap((object) => (object.kind === 'Secret' ? [] : [{ object, kind: object.kind }]))
    .sort((a, b) => rank(a.kind) - rank(b.kind) || (a.object.key < b.object.key ? -1 : 1))
    .map(({ object, kind }) => ({
      object,
      body: objectBody(object, kind, credentialOf(object, secrets, isPartial)),
    }))
  return [...readable, ...set.refused.map((object) => ({ object, body: refusedBody(object) }))]
}

function objectBody(
  object: ManifestObject,
  kind: ResourceKind,
  credential: string | null | undefined,
): PushBody {
  const { metadata, spec } = object.resource as { metadata: ObservedManifest['metadata']; spec: unknown }
  return withGeneration({
    uid: `file:${object.key}`,
    source: 'file',
    managedBy: object.file,
    origin: fileOrigin(object),
    lines: object.lines,
    kind,
    metadata: { ...metadata, namespace: object.namespace },
    spec,
    credential,
  })
}

/**
 * Returns the body for a Policy of a broken file. The body contains the problems, so that the control plane denies
 * requests in the scope of the Policy.
 */
function refusedBody({
  key,
  namespace,
  name,
  file,
  lines,
  spec,
  problems,
  unnamed,
}: RefusedPolicy): PushBody {
  return withGeneration({
    uid: `file:${key}`,
    source: 'file',
    managedBy: file,
    origin: { ...UNKNOWN_ORIGIN, file },
    lines,
    kind: 'Policy',
    metadata: { name, namespace },
    spec: spec ?? null,
    problems,
    unnamed,
  })
}

/**
 * Returns the push body with a generation. A file has no generation, so the number is computed from the content and is
 * the same after a restart.
 */
function withGeneration(manifest: Omit<ObservedManifest, 'generation'>): PushBody {
  const { resource, problems } = pushBody({ ...manifest, generation: 0 })
  const content = JSON.stringify(problems === undefined ? resource : [resource, problems])
  const generation = Number.parseInt(sha256Hex(content).slice(0, 12), 16)
  return pushBody({ ...manifest, generation })
}

/**
 * Returns the origin of an object: the file of the folder, unless an annotation names the file from which it was
 * rendered.
 */
function fileOrigin({ resource, file }: ManifestObject): ManifestOrigin {
  const origin = manifestOrigin(resource.metadata)
  return { ...origin, file: origin.file ?? file }
}

/**
 * Returns the credential of a Connector, from a Secret of its own namespace. Returns `undefined` while any file has a
 * problem and the Secret is not found, because that file may contain the Secret: the control plane then keeps the
 * stored credential.
 */
function credentialOf(
  { resource, namespace }: ManifestObject,
  secrets: ReadonlyMap<string, string>,
  isPartial: boolean,
): string | null | undefined {
  if (resource.kind !== 'Connector') return undefined
  const ref = resource.spec.credential?.secretRef
  if (ref === undefined) return null
  return secrets.get(secretPlace(namespace, ref)) ?? (isPartial ? undefined : null)
}

function allObjects(set: ManifestSet): ManifestObject[] {
  return [...set.objectsByFile.values()].flat()
}

function lastGood(previous: ManifestSet, file: string, taken: readonly ManifestObject[]): ManifestObject[] {
  const keys = new Set(taken.map((object) => object.key))
  return (previous.objectsByFile.get(file) ?? []).filter((object) => !keys.has(object.key))
}

function readFile(file: ManifestFile): ReturnType<typeof parseManifests> {
  if (file.text !== null) return withExposure(parseManifests(file.file, file.text), file)
  const message = `the file cannot be read: ${file.failure ?? 'unknown reason'}`
  return { objects: [], problems: [{ file: file.file, line: null, message }], heads: [illegibleHead(1)] }
}

/**
 * Adds a problem for each Connector that takes its credential from the machine, in a file that other users or
 * programs may change. Through such a file, they could make the control plane run any command and read any
 * file as its user.
 */
function withExposure(parsed: ParsedManifest, { file, exposure }: ManifestFile): ParsedManifest {
  if (exposure === undefined) return parsed
  const problems = parsed.objects.flatMap(({ resource, line, lines }) => {
    const local = resource.kind === 'Connector' ? localSourceOf(resource.spec.credential) : null
    if (local === null) return []
    const field = `spec.credential.${local.kind}`
    const message = `${field}: ${exposure}, so other users could choose what Chaperone reads or runs as your user; put the manifest into a file that only you may change, or store the credential, and name it in credential.vault`
    return [{ file, line: lineOfReason(lines, message) ?? line, message }]
  })
  return { ...parsed, problems: [...parsed.problems, ...problems] }
}

function rank(kind: ResourceKind): number {
  return DEPENDENCY_ORDER.indexOf(kind)
}
