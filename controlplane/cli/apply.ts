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
  if (flag(invocation, 'dry-run')) {
    return report(
      invocation,
      resources.map((resource) => ({ object: objectName(resource), accepted: true, reasons: ['valid'] })),
    )
  }
  const api = controlPlane(invocation)
  const { manifests } = running(invocation.folder)
  const before = Date.now()
  for (const file of files) put(file, manifests)
  return report(
    invocation,
    await verdicts(api, { resources, files: files.map(({ path }) => basename(path)), sinceMs: before }),
  )
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

/** Null while the control plane has not spoken on this object, from this file. */
function verdictOf(resource: ManifestResource, seen: Seen, { files }: Wanted): Verdict | null {
  const problems = seen.problems
    .filter(({ file }) => files.includes(file))
    .map(({ file, line, message }) => `${file}:${line ?? '?'}: ${message}`)
  const object = objectName(resource)
  if (problems.length > 0) return { object, accepted: false, reasons: problems }
  const { name, namespace = 'default' } = resource.metadata
  const row = seen.objects.find(
    (each) => each.kind === resource.kind && each.name === name && each.namespace === namespace,
  )
  return row === undefined || !files.includes(String(row.managed_by))
    ? null
    : { object, accepted: row.accepted, reasons: row.reasons }
}

function late(resource: ManifestResource | undefined): Verdict {
  const object = resource === undefined ? '?' : objectName(resource)
  return { object, accepted: false, reasons: ['no verdict after 15 s: chaperone logs manifests'] }
}

function objectName({ kind, metadata }: ManifestResource): string {
  return `${kind} ${metadata.namespace ?? 'default'}/${metadata.name}`
}

function report(invocation: Invocation, results: readonly Verdict[]): number {
  const { print } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify({ objects: results }))
  else
    for (const { object, accepted, reasons } of results)
      print(
        `${object}: ${accepted ? 'accepted' : 'refused'}${reasons.length > 0 ? ` (${reasons.join('; ')})` : ''}`,
      )
  return results.every(({ accepted }) => accepted) ? EXIT.ok : EXIT.refused
}
