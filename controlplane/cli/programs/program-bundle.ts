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
import type { BuildOptions, Plugin } from 'esbuild'
import * as z from 'zod'
import { escapeNonAscii } from './escape-non-ascii.ts'

export type BundledProgram = 'controlplane' | 'operator' | 'sidecar'

type Source = { readonly title: string; readonly file: string; readonly folder: string }
/** The folders are beside the packages, because a bundle must be as trustworthy as the code itself. */
const SOURCES: Readonly<Record<BundledProgram, Source>> = {
  controlplane: {
    title: 'control plane',
    file: 'controlplane/main.ts',
    folder: 'node_modules/.cache/chaperone/control-plane',
  },
  operator: {
    title: 'manifests watcher',
    file: 'operator/main.ts',
    folder: 'node_modules/.cache/chaperone/operator',
  },
  sidecar: {
    title: 'gateway',
    file: 'sidecar/main.ts',
    folder: 'node_modules/.cache/chaperone/gateway',
  },
}

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

/** What the bundle was made of: our files from the root of the project and the lockfile, with the SHA-256 of their content. */
const Made = z.object({ of: z.record(z.string(), z.string()), file: z.string() })
type Made = z.infer<typeof Made>

/** A program that is started again after a month needs the sources of that day. */
const KEPT_MS = 30 * 86_400_000

/**
 * The program as one file, made of its sources when one of them has changed. As single files it takes twice as long to
 * start and 30 MiB more for as long as it runs, because the type stripper and the text of every file stay in memory.
 * Null, with a warning, when it cannot be made: the sources are run then.
 */
export async function programBundle(
  program: BundledProgram,
  warn: (line: string) => void,
  root: string = fileURLToPath(new URL('../../..', import.meta.url)),
): Promise<string | null> {
  const source = SOURCES[program]
  try {
    const made = readMade(join(root, source.folder))
    if (made !== null && isCurrent(root, source, made)) return join(root, source.folder, made.file)
    return await make(root, source)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    warn(
      `The ${source.title} is run from its sources, which takes more memory: they could not be bundled. ${why}`,
    )
    return null
  }
}

function readMade(folder: string): Made | null {
  const file = join(folder, 'made.json')
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return null
  const made = Made.safeParse(JSON.parse(readFileSync(file, 'utf8')))
  return made.success ? made.data : null
}

function isCurrent(root: string, { folder }: Source, { of, file }: Made): boolean {
  if (statSync(join(root, folder, file), { throwIfNoEntry: false }) === undefined) return false
  return Object.entries(of).every(([path, hash]) => hashOf(join(root, path)) === hash)
}

function hashOf(file: string): string | null {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return null
  return sha256(readFileSync(file))
}

async function make(root: string, source: Source): Promise<string> {
  const folder = join(root, source.folder)
  const place = dirname(source.file)
  // Not an import: what is shipped has no bundler in it.
  const { build }: typeof import('esbuild') = createRequire(import.meta.url)('esbuild')
  const outdir = join(folder, 'out')
  const { outputFiles, metafile } = await build({
    ...OPTIONS,
    absWorkingDir: root,
    entryPoints: { main: source.file },
    plugins: [keepDirnames(root, join(folder, 'key', place))],
    outdir,
    write: false,
  })
  const files = outputFiles.map(({ path, text }) => ({
    name: relative(outdir, path),
    text: escapeNonAscii(text),
  }))
  const key = sha256(files.map(({ text }) => text).join('')).slice(0, 16)
  put(join(folder, key, place), files)
  const made: Made = {
    of: hashesOf(root, Object.keys(metafile.inputs)),
    file: join(key, place, 'main.cjs'),
  }
  put(folder, [{ name: 'made.json', text: JSON.stringify(made) }])
  forgetOld(folder, key)
  return join(folder, made.file)
}

/** Files that a program reads beside its sources stay there. `outdir` is as deep as the folder of the bundle. */
function keepDirnames(root: string, outdir: string): Plugin {
  return {
    name: 'keep-dirnames',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        if (path.startsWith(join(root, 'node_modules')) || !text.includes('import.meta.dirname')) return null
        const way = JSON.stringify(relative(outdir, dirname(path)))
        const directory = `require('node:path').join(__dirname, ${way})`
        return { contents: text.replaceAll('import.meta.dirname', directory), loader: 'ts' }
      })
    },
  }
}

/** This file, its part and the lockfile too: they say how it is made, and the lockfile stands for the packages. */
function hashesOf(root: string, inputs: readonly string[]): Record<string, string> {
  const own = ['program-bundle.ts', 'one-byte.ts'].map((name) =>
    relative(root, join(import.meta.dirname, name)),
  )
  const sources = inputs.filter((path) => !path.startsWith('node_modules/'))
  const paths = [...sources, ...own, 'package-lock.json']
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
