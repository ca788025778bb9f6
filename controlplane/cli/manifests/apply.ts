import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { secretPlace, secretValues } from '../../../core/crd/credentials/secrets.ts'
import { policyDocumentOf } from '../../../core/crd/policy/policy-spelling.ts'
import type { ManifestResource } from '../../../core/crd/schemas.ts'
import { permissionWarnings } from '../../../core/decision/permissions/permission-warnings.ts'
import { policyWarnings } from '../../../core/decision/policies/policy-warnings.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ManifestsReply } from '../../../core/wire/manifests.ts'
import { IN_FORCE_TEXT, InForce } from '../../../core/wire/operator/operator.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { usageError } from '../arguments.ts'
import { waitUntilApplied } from '../client/agents.ts'
import { type ApiClient, controlPlane, requireRunFile } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'
import { type Command, EXIT, flag, type Invocation, list } from '../command.ts'
import {
  type Checked,
  checkManifest,
  MANIFEST_FILE,
  type ManifestFile,
  readManifestFiles,
} from './manifest-files.ts'
import { policyProblems } from './policy-problems.ts'

const Seen = replyFields<ManifestsReply>()(
  z.looseObject({
    objects: z.array(
      z.looseObject({
        kind: z.string(),
        namespace: z.string(),
        name: z.string(),
        accepted: z.boolean(),
        in_force: InForce.optional(),
        reasons: z.array(z.string()).default([]),
        warnings: z.array(z.string()).default([]),
        managed_by: z.string().nullish(),
        judged_at: z.string(),
      }),
    ),
    problems: z
      .array(z.looseObject({ file: z.string(), line: z.number().nullish(), message: z.string() }))
      .default([]),
  }),
)
type Seen = z.infer<typeof Seen>
type Verdict = {
  readonly object: string
  readonly accepted: boolean
  /** Version of the object that is in force; absent while the control plane has not reported one. */
  readonly in_force?: InForce | undefined
  readonly reasons: readonly string[]
  readonly warnings: readonly string[]
}

export const apply: Command = {
  name: 'apply',
  summary: 'Check manifests, copy them to the manifests folder, and wait until they are in force',
  usage: ['apply -f FILE|DIR...'],
  details:
    'Replaces files of the same name. Policies are compiled and their tests run first; if one file has an error, nothing is copied.\n' +
    'A manifest that the control plane does not accept stays in the folder, and its last accepted version stays in force. Without\n' +
    'an accepted version a Policy denies its scope, and other kinds have no effect.',
  maxArguments: Number.POSITIVE_INFINITY,
  options: {
    file: {
      type: 'string',
      value: 'FILE',
      short: 'f',
      multiple: true,
      help: 'manifest file, or folder of manifests',
    },
    'dry-run': { type: 'boolean', help: 'check the manifests and copy nothing' },
  },
  examples: [
    ['chaperone apply -f permissions.yaml', 'apply one file'],
    ['chaperone apply -f team/ --dry-run', 'check a folder, for example in CI'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { terminal, cwd } = invocation
  const names = [...list(invocation, 'file'), ...invocation.positionals]
  if (names.length === 0) throw usageError(apply, 'Give the manifests with -f FILE.')
  const files = readManifestFiles(names, cwd)
  assertDistinct(files)
  const checked = files.map((file) => checkManifest(file))
  const problems = files.flatMap((file, index) => problemsIn(file, checked[index]))
  for (const problem of problems) terminal.warn(problem)
  if (problems.length > 0) throw new ChaperoneError('conflict', { detail: 'Nothing was changed.' })
  const resources = checked.flatMap((each) => each.resources)
  if (flag(invocation, 'dry-run')) return report(invocation, resources.map(valid))
  const api = controlPlane(invocation)
  const { manifests, gateway_url } = requireRunFile(invocation.folder)
  const fileNames = files.map(({ path }) => basename(path))
  const present = presentIn(manifests)
  const replaced = resourcesIn(present.filter(({ path }) => fileNames.includes(basename(path))))
  const wanted = {
    resources,
    renewed: renewedBy(resources, { replaced, folder: resourcesIn(present) }),
    removed: removedBy(resources, replaced),
    before: await seenNow(api),
    files: fileNames,
  }
  for (const file of files) put(file, manifests)
  const found = await verdicts(api, wanted)
  const isInForce = gateway_url === null || (await waitUntilApplied(api))
  if (!isInForce) terminal.warn('The gateway has not applied the newest rules yet. See: chaperone status')
  return report(invocation, found)
}

function problemsIn(file: ManifestFile, checked: Checked | undefined): readonly string[] {
  return checked === undefined ? [] : [...checked.problems, ...policyProblems(file, checked.resources)]
}

/** Returns the warnings about an object that can be found without a control plane, for a dry run. */
function ruleWarnings({ kind, spec }: ManifestResource): readonly string[] {
  if (kind === 'Policy') return policyWarnings(policyDocumentOf(spec))
  return kind === 'Permission' ? spec.rules.flatMap((rule) => permissionWarnings(rule, [], spec.rules)) : []
}

type Present = {
  /** Objects in those files of the manifests folder that this command replaces. */
  readonly replaced: readonly ManifestResource[]
  readonly folder: readonly ManifestResource[]
}

/**
 * Returns the names of the objects that the control plane must check again: changed objects, and Connectors whose
 * Secret changes in any file.
 */
function renewedBy(resources: readonly ManifestResource[], { replaced, folder }: Present): readonly string[] {
  const before = new Set(replaced.map((resource) => JSON.stringify(resource)))
  const changed = resources.filter((resource) => !before.has(JSON.stringify(resource)))
  const [old, fresh] = [secretValues(folder), secretValues(resources)]
  const users = [...folder, ...resources].filter((resource) => {
    const place = secretOf(resource)
    return place !== null && fresh.has(place) && fresh.get(place) !== old.get(place)
  })
  return [...new Set([...changed, ...users].filter(isJudged).map(objectName))]
}

function removedBy(
  resources: readonly ManifestResource[],
  replaced: readonly ManifestResource[],
): readonly string[] {
  const names = new Set(resources.map(objectName))
  const old = replaced.filter(isJudged).map(objectName)
  return old.filter((name) => !names.has(name))
}

function secretOf(resource: ManifestResource): string | null {
  const ref = resource.kind === 'Connector' ? resource.spec.credential?.secretRef : undefined
  return ref === undefined ? null : secretPlace(resource.metadata.namespace, ref)
}

/**
 * Reports whether the control plane reports a result for the object. For a Secret, the control plane reports no result
 * of its own, but a result for each Connector that references the Secret.
 */
function isJudged({ kind }: ManifestResource): boolean {
  return kind !== 'Secret'
}

function valid(resource: ManifestResource): Verdict {
  return {
    object: objectName(resource),
    accepted: true,
    reasons: ['valid'],
    warnings: ruleWarnings(resource),
  }
}

/**
 * Returns the manifests in the folder before the new files are copied. Skips unreadable files, because the manifests
 * watcher reports them.
 */
function presentIn(folder: string): readonly ManifestFile[] {
  if (!existsSync(folder))
    throw new ChaperoneError('conflict', {
      detail: `The manifests folder ${folder} does not exist. Create it: mkdir ${folder}`,
    })
  return readdirSync(folder)
    .filter((name) => MANIFEST_FILE.test(name))
    .flatMap((name) => {
      try {
        return readManifestFiles([name], folder)
      } catch {
        return []
      }
    })
}

function resourcesIn(files: readonly ManifestFile[]): readonly ManifestResource[] {
  return files.flatMap((file) => checkManifest(file).resources)
}

/** Throws `conflict` for two files of the same name, because one would replace the other. */
function assertDistinct(files: readonly ManifestFile[]): void {
  const names = files.map(({ path }) => basename(path))
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `Two of the files are named ${twice}, but file names must be unique in the manifests folder. Nothing was changed. Rename one of the files.`,
  })
}

/** Writes the checked text atomically, so that the manifests watcher never reads a partial file. */
function put({ path, text }: ManifestFile, folder: string): void {
  if (dirname(path) === folder) return
  const unfinished = join(folder, `.${basename(path)}.new`)
  writeFileSync(unfinished, text, { mode: 0o600 })
  renameSync(unfinished, join(folder, basename(path)))
}

type Wanted = {
  readonly resources: readonly ManifestResource[]
  readonly files: readonly string[]
  readonly renewed: readonly string[]
  readonly removed: readonly string[]
  /** Results of the control plane before the change, by which newer results are recognised. */
  readonly before: Seen
}

async function seenNow(api: ApiClient): Promise<Seen> {
  return Seen.parse(await api.call('GET', '/api/dashboard/manifests'))
}

async function verdicts(api: ApiClient, wanted: Wanted): Promise<Verdict[]> {
  const deadline = performance.now() + 15_000
  const judged = wanted.resources.filter(isJudged)
  for (;;) {
    const seen = await seenNow(api)
    const found = judged.map((resource) => verdictOf(objectName(resource), seen, wanted))
    const isDone = found.every((verdict) => verdict !== null) && isSettled(seen, wanted)
    if (isDone || performance.now() > deadline)
      return found.map((verdict, index) => verdict ?? late(judged[index], seen, wanted))
    await sleep(100)
  }
}

function isSettled(seen: Seen, { renewed, removed, before }: Wanted): boolean {
  const isLeft = removed.some((name) => rowOf(seen, name) !== undefined)
  return !isLeft && renewed.every((name) => isNewer(name, seen, before))
}

/** Returns the result of an object; null while the control plane has not reported a result of the current version. */
function verdictOf(object: string, seen: Seen, { files, renewed, before }: Wanted): Verdict | null {
  const reported = problemsOf(before, files)
  const problems = problemsOf(seen, files).filter((problem) => !reported.includes(problem))
  if (problems.length > 0) return { object, accepted: false, reasons: problems, warnings: [] }
  const row = rowOf(seen, object)
  if (row === undefined || (renewed.includes(object) && !isNewer(object, seen, before))) return null
  const { accepted, in_force, reasons, warnings } = row
  return { object, accepted, in_force, reasons, warnings }
}

function problemsOf({ problems }: Seen, files: readonly string[]): readonly string[] {
  return problems
    .filter(({ file }) => files.includes(file))
    .map(({ file, line, message }) => `${file}:${line ?? '?'}: ${message}`)
}

function rowOf({ objects }: Seen, object: string): Seen['objects'][number] | undefined {
  return objects.find(({ kind, namespace, name }) => `${kind} ${namespace}/${name}` === object)
}

/**
 * Reports whether the result of an object is newer than its result before the change. Compares only timestamps of the
 * database, so that clock skew has no effect.
 */
function isNewer(object: string, seen: Seen, before: Seen): boolean {
  return rowOf(seen, object)?.judged_at !== rowOf(before, object)?.judged_at
}

function late(resource: ManifestResource | undefined, seen: Seen, { files }: Wanted): Verdict {
  const object = resource === undefined ? '?' : objectName(resource)
  const reasons = ['not checked within 15 s; see chaperone logs manifests', ...problemsOf(seen, files)]
  return { object, accepted: false, reasons, warnings: [] }
}

function objectName({ kind, metadata }: ManifestResource): string {
  return `${kind} ${metadata.namespace ?? 'default'}/${metadata.name}`
}

function report(invocation: Invocation, results: readonly Verdict[]): number {
  const lines = flag(invocation, 'json') ? [JSON.stringify({ objects: results })] : results.map(resultLine)
  for (const line of lines) invocation.terminal.print(line)
  for (const { object, warnings } of results)
    for (const text of warnings) invocation.terminal.warn(`warning: ${object}: ${text}`)
  return results.every(({ accepted }) => accepted) ? EXIT.ok : EXIT.refused
}

function resultLine({ object, accepted, in_force: held, reasons }: Verdict): string {
  const why = reasons.length > 0 ? ` (${reasons.join('; ')})` : ''
  const holds = accepted || held === undefined ? '' : `; ${IN_FORCE_TEXT[held]}`
  return `${object}: ${accepted ? 'accepted' : 'refused'}${why}${holds}`
}
