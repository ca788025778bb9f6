import { createHash } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BuildOptions } from 'esbuild'
import * as z from 'zod'
import { oneByte } from './one-byte.ts'

const SOURCE = 'sidecar/main.ts'
/** Below the project, beside the packages, because it must be as trustworthy as the code itself. */
const FOLDER = 'node_modules/.cache/chaperone/gateway'

/**
 * Names and lines stay as they are, so that a stack says where it was; the map beside it says so of the sources. CommonJS,
 * because an `import` of a module of Node's reads every export of it, and one of those is a whole HTTP client.
 */
const OPTIONS = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  minifySyntax: true,
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  metafile: true,
  logLevel: 'silent',
} as const satisfies BuildOptions

/** What the bundle was made of: files from the root of the project, with the SHA-256 of their content. */
const Made = z.object({ of: z.record(z.string(), z.string()), file: z.string() })
type Made = z.infer<typeof Made>

/** A gateway that is started again after a month wants the sources of that day. */
const KEPT_MS = 30 * 86_400_000

/**
 * The gateway as one file, made of its sources when one of them has changed. As single files it takes twice as long to
 * start and 30 MiB more for as long as it runs, because the type stripper and the text of every file stay in memory.
 * Null, with a word to `warn`, when it cannot be made: the sources are run then.
 */
export async function gatewayBundle(
  warn: (line: string) => void,
  root: string = fileURLToPath(new URL('../..', import.meta.url)),
): Promise<string | null> {
  try {
    const made = readMade(root)
    return made !== null && isCurrent(root, made) ? join(root, FOLDER, made.file) : await make(root)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    warn(`The gateway is run from its sources, which takes more memory: they could not be bundled. ${why}`)
    return null
  }
}

function readMade(root: string): Made | null {
  const file = join(root, FOLDER, 'made.json')
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return null
  const made = Made.safeParse(JSON.parse(readFileSync(file, 'utf8')))
  return made.success ? made.data : null
}

function isCurrent(root: string, { of, file }: Made): boolean {
  if (statSync(join(root, FOLDER, file), { throwIfNoEntry: false }) === undefined) return false
  return Object.entries(of).every(([path, hash]) => hashOf(join(root, path)) === hash)
}

function hashOf(file: string): string | null {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return null
  return sha256(readFileSync(file))
}

async function make(root: string): Promise<string> {
  const folder = join(root, FOLDER)
  // Not an import: what is shipped has no bundler in it.
  const { build }: typeof import('esbuild') = createRequire(import.meta.url)('esbuild')
  const outdir = join(folder, 'out')
  const { outputFiles, metafile } = await build({
    ...OPTIONS,
    absWorkingDir: root,
    entryPoints: { main: SOURCE },
    outdir,
    write: false,
  })
  const files = outputFiles.map(({ path, text }) => ({ name: relative(outdir, path), text: oneByte(text) }))
  const key = sha256(files.map(({ text }) => text).join('')).slice(0, 16)
  put(join(folder, key, dirname(SOURCE)), files)
  const made: Made = {
    of: hashesOf(root, Object.keys(metafile.inputs)),
    file: join(key, dirname(SOURCE), 'main.cjs'),
  }
  put(folder, [{ name: 'made.json', text: JSON.stringify(made) }])
  forgetOld(folder, key)
  return join(folder, made.file)
}

/** This file, its part and the lockfile too: they say how it is made, and of which packages. */
function hashesOf(root: string, inputs: readonly string[]): Record<string, string> {
  const own = ['gateway-bundle.ts', 'one-byte.ts'].map((name) =>
    relative(root, join(import.meta.dirname, name)),
  )
  const paths = [...inputs, ...own, 'package-lock.json']
  return Object.fromEntries(paths.map((path) => [path, hashOf(join(root, path)) ?? '']))
}

/** Whole or not at all: several installations may start at the same time. */
function put(folder: string, files: ReadonlyArray<{ readonly name: string; readonly text: string }>): void {
  mkdirSync(folder, { recursive: true })
  const draft = mkdtempSync(join(folder, '.draft-'))
  for (const { name, text } of files) {
    writeFileSync(join(draft, name), text)
    renameSync(join(draft, name), join(folder, name))
  }
  rmSync(draft, { recursive: true })
}

function forgetOld(folder: string, current: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    // Another start may have taken its draft away meanwhile.
    const madeMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    const isOld = Date.now() - madeMs > KEPT_MS
    if (name !== current && name !== 'made.json' && isOld) rmSync(path, { recursive: true, force: true })
  }
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
