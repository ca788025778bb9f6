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
import { sha256Hex } from '../../../runtime/sha256.ts'
import { escapeNonAscii } from './escape-non-ascii.ts'

export type BundledProgram = 'controlplane' | 'operator' | 'sidecar'

type Source = { readonly title: string; readonly file: string; readonly folder: string }
/**
 * Sources of the bundled programs. Bundles are stored inside `node_modules`, because they must be as trustworthy as the
 * source.
 */
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
 * Options of esbuild. Names are not minified, so that stack traces are readable. Blanks and comments are removed,
 * because V8 keeps the text of a program; the removal saves 0.9 MiB of memory in a gateway. Lines are long, because
 * V8 keeps the positions of line ends after the first stack trace. The format is CommonJS, because an `import` of a
 * Node module evaluates all exports of the module, and one of these exports loads an HTTP client.
 */
const OPTIONS = {
  bundle: true,
  // Only a process with a kubeconfig file loads this package of 17 MB, so it is not part of the bundle.
  external: ['@kubernetes/client-node'],
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  minifySyntax: true,
  minifyWhitespace: true,
  lineLimit: 200,
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  metafile: true,
  logLevel: 'silent',
} as const satisfies BuildOptions

/**
 * Manifest of a bundle: `of` maps each input (source file or lockfile, relative to the project root) to its SHA-256.
 */
const BundleManifest = z.object({ of: z.record(z.string(), z.string()), file: z.string() })
type BundleManifest = z.infer<typeof BundleManifest>

/** Age in ms after which unused bundles are deleted. */
const MAX_AGE_MS = 30 * 86_400_000

/**
 * Returns the file of the bundled program. Builds the bundle again when a source has changed. Without a bundle, the
 * program starts half as fast and uses 30 MiB more memory, because the type stripper and the text of every file stay
 * loaded. Resolves with null, and prints a warning, when the bundle cannot be built; the program then runs from its
 * sources.
 */
export async function programBundle(
  program: BundledProgram,
  warn: (line: string) => void,
  root: string = fileURLToPath(new URL('../../..', import.meta.url)),
): Promise<string | null> {
  const source = SOURCES[program]
  try {
    const built = readManifest(join(root, source.folder))
    if (built !== null && isCurrent(root, source, built)) return join(root, source.folder, built.file)
    return await buildBundle(root, source)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    warn(`The ${source.title} could not be bundled and runs from its sources, which uses more memory. ${why}`)
    return null
  }
}

function readManifest(folder: string): BundleManifest | null {
  const file = join(folder, 'made.json')
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return null
  const made = BundleManifest.safeParse(JSON.parse(readFileSync(file, 'utf8')))
  return made.success ? made.data : null
}

function isCurrent(root: string, { folder }: Source, { of, file }: BundleManifest): boolean {
  if (statSync(join(root, folder, file), { throwIfNoEntry: false }) === undefined) return false
  return Object.entries(of).every(([path, hash]) => hashOf(join(root, path)) === hash)
}

function hashOf(file: string): string | null {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return null
  return sha256Hex(readFileSync(file))
}

async function buildBundle(root: string, source: Source): Promise<string> {
  const folder = join(root, source.folder)
  const place = dirname(source.file)
  // esbuild is loaded at run time, because the released program does not contain it.
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
  const key = sha256Hex(files.map(({ text }) => text).join('')).slice(0, 16)
  writeFiles(join(folder, key, place), files)
  const manifest: BundleManifest = {
    of: hashesOf(root, Object.keys(metafile.inputs)),
    file: join(key, place, 'main.cjs'),
  }
  writeFiles(folder, [{ name: 'made.json', text: JSON.stringify(manifest) }])
  deleteOld(folder, key)
  return join(folder, manifest.file)
}

/**
 * Creates the esbuild plugin that makes `import.meta.dirname` the folder of the source. The folder `outdir` must be as
 * deep below `root` as the folder of the bundle.
 */
function keepDirnames(root: string, outdir: string): Plugin {
  return {
    name: 'keep-dirnames',
    setup(build) {
      build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        if (path.startsWith(join(root, 'node_modules')) || !text.includes('import.meta.dirname')) return null
        const relativePath = JSON.stringify(relative(outdir, dirname(path)))
        const directory = `require('node:path').join(__dirname, ${relativePath})`
        return { contents: text.replaceAll('import.meta.dirname', directory), loader: 'ts' }
      })
    },
  }
}

/**
 * Returns the SHA-256 of each source by path. The result also contains the files that define how a bundle is built,
 * and the lockfile, whose hash represents the files of all packages.
 */
function hashesOf(root: string, inputs: readonly string[]): Record<string, string> {
  const own = ['program-bundle.ts', 'escape-non-ascii.ts'].map((name) =>
    relative(root, join(import.meta.dirname, name)),
  )
  const sources = inputs.filter((path) => !path.startsWith('node_modules/'))
  const paths = [...sources, ...own, 'package-lock.json']
  return Object.fromEntries(paths.map((path) => [path, sha256Hex(readFileSync(join(root, path)))]))
}

/** Writes each file atomically, because several installations may start at the same time. */
function writeFiles(
  folder: string,
  files: ReadonlyArray<{ readonly name: string; readonly text: string }>,
): void {
  mkdirSync(folder, { recursive: true })
  const draft = mkdtempSync(join(folder, '.draft-'))
  for (const { name, text } of files) {
    writeFileSync(join(draft, name), text)
    renameSync(join(draft, name), join(folder, name))
  }
  rmSync(draft, { recursive: true })
}

function deleteOld(folder: string, current: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    // The file may have disappeared, because a concurrent start removes its own temporary file.
    const madeMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    const isOld = Date.now() - madeMs > MAX_AGE_MS
    if (name !== current && name !== 'made.json' && isOld) rmSync(path, { recursive: true, force: true })
  }
}
