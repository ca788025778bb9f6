import { copyFileSync, existsSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import * as z from 'zod'
import type { ManifestResource } from '../../core/crd/schemas.ts'
import { ChaperoneError } from '../../core/errors.ts'
import { usageError } from './arguments.ts'
import { type ApiClient, controlPlane, running } from './client.ts'
import { type Command, EXIT, flag, type Invocation, list } from './command.ts'
import { untilApplied } from './local-agents.ts'
import { checkManifest, type ManifestFile, readManifestFiles } from './manifest-files.ts'

const Seen = z.looseObject({
  objects: z.array(
    z.looseObject({
      kind: z.string(),
      namespace: z.string(),
      name: z.string(),
      accepted: z.boolean(),
      reasons: z.array(z.string()).default([]),
      managed_by: z.string().nullish(),
      updated_at: z.string().nullish(),
    }),
  ),
  problems: z
    .array(z.looseObject({ file: z.string(), line: z.number().nullish(), message: z.string() }))
    .default([]),
})
type Seen = z.infer<typeof Seen>
type Verdict = { readonly object: string; readonly accepted: boolean; readonly reasons: readonly string[] }

export const apply: Command = {
  name: 'apply',
  summary: 'Checks manifests, puts them into the manifests folder, and waits until they are in force.',
  usage: ['apply -f FILE|DIR...'],
  details: 'A file of the same name is replaced. Nothing is copied when one of the files has a mistake.',
  words: Number.POSITIVE_INFINITY,
  options: {
    file: {
      type: 'string',
      value: 'FILE',
      short: 'f',
      multiple: true,
      help: 'a manifest, or a folder of them',
    },
    'dry-run': { type: 'boolean', help: 'check only' },
  },
  examples: [
    ['chaperone apply -f permissions.yaml', 'one file'],
    ['chaperone apply -f team/ --dry-run', 'check a folder, in CI for instance'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { terminal, cwd } = invocation
  const names = [...list(invocation, 'file'), ...invocation.positionals]
  if (names.length === 0) throw usageError(apply, 'Which manifests? Give -f FILE.')
  const files = readManifestFiles(names, cwd)
  const checked = files.map((file) => checkManifest(file))
  const problems = checked.flatMap((each) => each.problems)
  for (const problem of problems) terminal.warn(problem)
  if (problems.length > 0) throw new ChaperoneError('conflict', { detail: 'Nothing was changed.' })
  const resources = checked.flatMap((each) => each.resources)
  if (flag(invocation, 'dry-run')) return report(invocation, resources.map(valid))
  const api = controlPlane(invocation)
  const { manifests } = running(invocation.folder)
  const before = new Set(currentResources(files, manifests).map((resource) => JSON.stringify(resource)))
  const changed = new Set(
    resources.filter((resource) => !before.has(JSON.stringify(resource))).map(objectName),
  )
  const sinceMs = Date.now()
  for (const file of files) put(file, manifests)
  const wanted = { resources, changed, sinceMs, files: files.map(({ path }) => basename(path)) }
  return report(invocation, await verdicts(api, wanted))
}

function valid(resource: ManifestResource): Verdict {
  return { object: objectName(resource), accepted: true, reasons: ['valid'] }
}

/** What the files of the same names hold now: only what differs gets a new verdict. */
function currentResources(files: readonly ManifestFile[], folder: string): readonly ManifestResource[] {
  const present = files.map(({ path }) => join(folder, basename(path))).filter((path) => existsSync(path))
  return readManifestFiles(present, folder).flatMap((file) => checkManifest(file).resources)
}

/** Whole or not at all: the watcher must never read half a file. */
function put({ path }: ManifestFile, folder: string): void {
  if (dirname(path) === folder) return
  if (!existsSync(folder))
    throw new ChaperoneError('conflict', {
      detail: `The manifests folder ${folder} is gone. Make it again: mkdir ${folder}`,
    })
  const unfinished = join(folder, `.${basename(path)}.new`)
  copyFileSync(path, unfinished)
  renameSync(unfinished, join(folder, basename(path)))
}

type Wanted = {
  readonly resources: readonly ManifestResource[]
  readonly files: readonly string[]
  /** Objects whose verdict must be newer than `sinceMs`. */
  readonly changed: ReadonlySet<string>
  readonly sinceMs: number
}

async function verdicts(api: ApiClient, wanted: Wanted): Promise<Verdict[]> {
  const deadline = performance.now() + 15_000
  for (;;) {
    const seen = Seen.parse(await api.call('GET', '/api/dashboard/manifests'))
    const found = wanted.resources
      .filter(({ kind }) => kind !== 'Secret')
      .map((resource) => verdictOf(resource, seen, wanted))
    const isLate = performance.now() > deadline
    if (isLate || found.every((verdict) => verdict !== null)) {
      if (!isLate) await untilApplied(api)
      return found.map((verdict, index) => verdict ?? late(wanted.resources[index]))
    }
    await delay(100)
  }
}

/** Null while the control plane has not spoken on this object as it is now. */
function verdictOf(resource: ManifestResource, seen: Seen, wanted: Wanted): Verdict | null {
  const object = objectName(resource)
  const problems = seen.problems.filter(({ file }) => wanted.files.includes(file))
  if (problems.length > 0) {
    return {
      object,
      accepted: false,
      reasons: problems.map(({ file, line, message }) => `${file}:${line ?? '?'}: ${message}`),
    }
  }
  const { name, namespace = 'default' } = resource.metadata
  const row = seen.objects.find(
    (each) => each.kind === resource.kind && each.name === name && each.namespace === namespace,
  )
  if (row === undefined || (wanted.changed.has(object) && !isNewer(row.updated_at, wanted.sinceMs)))
    return null
  return { object, accepted: row.accepted, reasons: row.reasons }
}

/** One second of slack: the database's clock is not ours. */
function isNewer(updatedAt: string | null | undefined, sinceMs: number): boolean {
  return updatedAt === null || updatedAt === undefined || Date.parse(updatedAt) >= sinceMs - 1_000
}

function late(resource: ManifestResource | undefined): Verdict {
  const object = resource === undefined ? '?' : objectName(resource)
  return { object, accepted: false, reasons: ['no verdict after 15 s: chaperone logs manifests'] }
}

function objectName({ kind, metadata }: ManifestResource): string {
  return `${kind} ${metadata.namespace ?? 'default'}/${metadata.name}`
}

function report(invocation: Invocation, results: readonly Verdict[]): number {
  const lines = flag(invocation, 'json') ? [JSON.stringify({ objects: results })] : results.map(resultLine)
  for (const line of lines) invocation.terminal.print(line)
  return results.every(({ accepted }) => accepted) ? EXIT.ok : EXIT.refused
}

function resultLine({ object, accepted, reasons }: Verdict): string {
  const why = reasons.length > 0 ? ` (${reasons.join('; ')})` : ''
  return `${object}: ${accepted ? 'accepted' : 'refused'}${why}`
}
