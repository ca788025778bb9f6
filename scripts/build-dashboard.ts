import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { directImports } from './dashboard/direct-imports.ts'

/** Content of `manifest.json`, which lists the files of a dashboard bundle. */
export type DashboardManifest = {
  /** Hash of all inputs, which is also the name of the folder with the files. */
  readonly version: string
  readonly files: readonly string[]
}

const root = fileURLToPath(new URL('..', import.meta.url))
const SOURCE = join(root, 'controlplane/dashboard')
/** Folder of the dashboard bundles in a checkout. A release ships `dist/dashboard` instead. */
export const DASHBOARD_CACHE = join(root, 'node_modules/.cache/chaperone/dashboard')
const ENTRIES = { app: 'app.tsx', styles: 'styles.css' }
/** Folder with the manifest and the icons of the web app. The server serves these files unchanged. */
const WEB_APP = join(SOURCE, 'web-app')
/**
 * Name of the file of the service worker. The name is the same in every version, because a browser identifies a service
 * worker by its address.
 */
const SERVICE_WORKER = 'service-worker'
const KEPT_MS = 3_600_000

/**
 * Bundles the dashboard into `out`, unless `out` already has a bundle of the same sources. Returns the version of the
 * bundle.
 */
export async function buildDashboard(out = DASHBOARD_CACHE): Promise<string> {
  const version = versionOf()
  const manifest = join(out, 'manifest.json')
  if (isBuilt(out, version)) {
    const now = new Date()
    utimesSync(manifest, now, now)
    return version
  }
  const files = await bundle()
  writeOnce(join(out, version), files)
  const text: DashboardManifest = { version, files: [...files.keys()].sort() }
  writeFileSync(`${manifest}.${process.pid}`, `${JSON.stringify(text, null, 2)}\n`)
  renameSync(`${manifest}.${process.pid}`, manifest)
  removeOld(out, version)
  return version
}

/**
 * Returns the files of the bundle by name, each also compressed with brotli and gzip. `index.html` contains the
 * placeholder `{{nonce}}`.
 */
async function bundle(): Promise<ReadonlyMap<string, Uint8Array>> {
  const { build } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    entryPoints: Object.fromEntries(
      Object.entries(ENTRIES).map(([name, file]) => [name, join(SOURCE, file)]),
    ),
    absWorkingDir: root,
    outdir: SOURCE,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    minify: true,
    legalComments: 'none',
    plugins: [directImports(join(root, 'node_modules'))],
    metafile: true,
    write: false,
    logLevel: 'warning',
  })
  const outputs = new Map(
    Object.entries(metafile.outputs).map(([path, facts]) => [relative(SOURCE, join(root, path)), facts]),
  )
  const named = (entry: string) =>
    [...outputs].find(([, facts]) => facts.entryPoint?.endsWith(`dashboard/${entry}`) === true)?.[0] ?? ''
  const app = named(ENTRIES.app)
  const preloads = staticImportsOf(outputs, app)
  const page = pageOf({ app, styles: named(ENTRIES.styles), preloads })
  const files = new Map<string, Uint8Array>([['index.html', Buffer.from(page)]])
  for (const name of readdirSync(WEB_APP)) files.set(name, readFileSync(join(WEB_APP, name)))
  for (const { path, contents } of [...outputFiles, ...(await serviceWorker(build))]) {
    const name = relative(SOURCE, path)
    files.set(name, contents)
    files.set(
      `${name}.br`,
      brotliCompressSync(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
    )
    files.set(`${name}.gz`, gzipSync(contents, { level: 9 }))
  }
  return files
}

async function serviceWorker(build: typeof import('esbuild').build) {
  const { outputFiles } = await build({
    entryPoints: { [SERVICE_WORKER]: join(SOURCE, `${SERVICE_WORKER}.ts`) },
    absWorkingDir: root,
    outdir: SOURCE,
    bundle: true,
    format: 'iife',
    target: 'es2023',
    minify: true,
    legalComments: 'none',
    write: false,
    logLevel: 'warning',
  })
  return outputFiles
}

type Outputs = ReadonlyMap<
  string,
  { readonly imports: ReadonlyArray<{ readonly path: string; readonly kind: string }> }
>

function staticImportsOf(outputs: Outputs, name: string): string[] {
  const imports = outputs.get(name)?.imports ?? []
  return imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => relative(SOURCE, join(root, path)))
}

function pageOf(names: {
  readonly app: string
  readonly styles: string
  readonly preloads: readonly string[]
}): string {
  const preloads = names.preloads
    .map((name) => `<link rel="modulepreload" href="/assets/${name}" />`)
    .join('\n    ')
  return readFileSync(join(SOURCE, 'index.html'), 'utf8')
    .replace('{{styles}}', `/assets/${names.styles}`)
    .replace('{{entry}}', `/assets/${names.app}`)
    .replace('{{preloads}}', preloads)
}

/** Returns the hash of all source files, the lockfile and this script, which is the version of the bundle. */
function versionOf(): string {
  const hash = createHash('sha256')
  const sources = readdirSync(SOURCE, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  for (const path of [...sources, join(root, 'package-lock.json'), fileURLToPath(import.meta.url)]) {
    hash.update(relative(root, path)).update('\0').update(readFileSync(path)).update('\0')
  }
  return hash.digest('hex').slice(0, 16)
}

function isBuilt(out: string, version: string): boolean {
  const path = join(out, 'manifest.json')
  if (!existsSync(path)) return false
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as DashboardManifest
  return manifest.version === version && isComplete(join(out, version), manifest.files)
}

function isComplete(folder: string, names: readonly string[]): boolean {
  return names.every((name) => existsSync(join(folder, name)))
}

/**
 * Writes a folder atomically. If another build has already written the complete folder, that folder is kept, because
 * concurrent builds write the same files.
 */
function writeOnce(folder: string, files: ReadonlyMap<string, Uint8Array>): void {
  const draft = `${folder}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  for (const [name, content] of files) writeFileSync(join(draft, name), content)
  if (isComplete(folder, [...files.keys()])) rmSync(draft, { recursive: true })
  else {
    rmSync(folder, { recursive: true, force: true })
    renameSync(draft, folder)
  }
}

/** Removes the folders of earlier versions. Keeps a recent folder, because another process may write or serve it. */
function removeOld(out: string, version: string): void {
  const isOld = (path: string) => Date.now() - statSync(path).mtimeMs > KEPT_MS
  readdirSync(out, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== version)
    .map((entry) => join(out, entry.name))
    .filter(isOld)
    .forEach((folder) => {
      rmSync(folder, { recursive: true, force: true })
    })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(dirname(DASHBOARD_CACHE), { recursive: true })
  console.error('chaperone: bundling the dashboard (once, about 20 s) ...')
  await buildDashboard()
}
