import { chmodSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import {
  type Migrated,
  type MigrationNote,
  migrateManifests,
} from '../../../core/crd/migration/migrate-manifests.ts'
import { usageError } from '../arguments.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { type ManifestFile, readManifestFiles } from './manifest-files.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'Replace outdated fields in manifests with the current ones; works offline',
  usage: ['migrate FILE|DIR... [--check | --stdout]'],
  details:
    'Rewrites the files in place. Only outdated fields change; comments, order and every other document are not changed. Prints each\n' +
    'change with its line. A field that only a user can replace is printed on standard error and not changed.\n' +
    'Exit code 1: an outdated field remains; with --check also if an outdated field would be replaced.',
  maxArguments: Number.POSITIVE_INFINITY,
  options: {
    check: { type: 'boolean', help: 'print what would change, and change nothing' },
    stdout: { type: 'boolean', help: 'print the manifests instead of writing the files' },
  },
  examples: [
    ['chaperone migrate policies/', 'rewrite the manifests of a folder'],
    ['chaperone migrate policies/ --check', 'fail if a manifest has an outdated field, for example in CI'],
    ['chaperone migrate policy.yaml --stdout | kubectl apply -f -', 'apply the rewritten manifest'],
  ],
  run,
}

type MigratedFile = Migrated & { readonly path: string; readonly name: string; readonly before: string }

async function run(invocation: Invocation): Promise<number> {
  const { terminal, cwd } = invocation
  const [isCheck, isStdout] = [flag(invocation, 'check'), flag(invocation, 'stdout')]
  if (isCheck && isStdout) throw usageError(migrate, 'Give only one of --check and --stdout.')
  const files = readManifestFiles(namesOf(invocation), cwd).map((file) => migratedFile(file, cwd))
  const changed = files.filter(({ text, before }) => text !== before)
  if (isStdout) terminal.print(files.map(({ text }) => text.replace(/\n$/, '')).join('\n---\n'))
  if (!isStdout && !isCheck) for (const file of changed) replace(file)
  report(invocation, files, (line) => (isStdout ? terminal.warn(line) : terminal.print(line)))
  const isLeft = files.some(({ problems }) => problems.length > 0)
  return isLeft || (isCheck && changed.length > 0) ? EXIT.refused : EXIT.ok
}

function namesOf({ positionals }: Invocation): readonly string[] {
  if (positionals.length === 0) throw usageError(migrate, 'Give the manifests: chaperone migrate FILE.')
  return positionals
}

function migratedFile({ path, text }: ManifestFile, cwd: string): MigratedFile {
  return { ...migrateManifests(text), path, name: relative(cwd, path) || basename(path), before: text }
}

function report(invocation: Invocation, files: readonly MigratedFile[], print: (line: string) => void): void {
  if (flag(invocation, 'json')) {
    print(
      JSON.stringify({ files: files.map(({ name, changes, problems }) => ({ name, changes, problems })) }),
    )
    return
  }
  const changes = files.flatMap((file) => file.changes.map((note) => place(file, note)))
  const problems = files.flatMap((file) => file.problems.map((note) => place(file, note)))
  for (const change of changes) print(change)
  for (const problem of problems) invocation.terminal.warn(`error: ${problem}`)
  print(total(changes.length, flag(invocation, 'check')))
}

function place({ name }: MigratedFile, { line, text }: MigrationNote): string {
  return `${name}:${line}: ${text}`
}

function total(count: number, isCheck: boolean): string {
  if (count === 0) return 'No outdated fields.'
  return `${count} outdated ${count === 1 ? 'field' : 'fields'} ${isCheck ? 'would be replaced' : 'replaced'}.`
}

/**
 * Replaces the file atomically, so that a watcher never reads a part of it. Replaces the target of a symbolic link,
 * not the link.
 */
function replace({ path, text }: MigratedFile): void {
  const target = realpathSync(path)
  const unfinished = join(dirname(target), `.${basename(target)}.new`)
  writeFileSync(unfinished, text, { mode: 0o600 })
  chmodSync(unfinished, statSync(target).mode)
  renameSync(unfinished, target)
}
