import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export type GoModule = {
  readonly module: string
  /** A version, or a pseudo-version of a commit. */
  readonly version: string
  /** Names of the programs, with the folders of their main packages in the module. */
  readonly programs: Readonly<Record<string, string>>
  /** Texts to replace in the sources before they are compiled. */
  readonly changes?: ReadonlyArray<{ readonly file: string; readonly from: string; readonly to: string }>
}

/** `source`: folder of the module's files. `folder`: folder of the programs. */
export type BuiltModule = { readonly source: string; readonly folder: string }

/** Downloads a Go module, and builds its programs once for each user. */
export async function buildGoModule({ module, version, programs, changes }: GoModule): Promise<BuiltModule> {
  const { stdout } = await run('go', ['mod', 'download', '-json', `${module}@${version}`])
  const { Dir: source } = JSON.parse(stdout) as { Dir: string }
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const folder = join(cache, 'chaperone-tests', `${basename(module)}-${version}`)
  mkdirSync(folder, { recursive: true })
  const missing = Object.entries(programs).filter(([name]) => !existsSync(join(folder, name)))
  if (missing.length === 0) return { source, folder }
  const tree = changes === undefined ? source : await changedCopy(source, join(folder, 'source'), changes)
  // The module may need a newer Go, which is a module too.
  const env = { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'auto' }
  for (const [name, path] of missing) {
    const output = join(folder, `${name}.${process.pid}`)
    const flags = ['-trimpath', '-ldflags', '-s -w', '-o', output]
    await run('go', ['build', '-C', tree, ...flags, path], { env, maxBuffer: 1 << 26 })
    renameSync(output, join(folder, name))
  }
  return { source, folder }
}

async function changedCopy(
  source: string,
  copy: string,
  changes: NonNullable<GoModule['changes']>,
): Promise<string> {
  rmSync(copy, { recursive: true, force: true })
  // The module cache of Go is read-only.
  await run('cp', ['-r', '--no-preserve=mode', source, copy])
  for (const { file, from, to } of changes) {
    const parts = readFileSync(join(copy, file), 'utf8').split(from)
    if (parts.length !== 2)
      throw new Error(`${file} has the text to replace ${parts.length - 1} times: ${from}`)
    writeFileSync(join(copy, file), parts.join(to))
  }
  return copy
}
