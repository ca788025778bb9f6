import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildDashboard } from './build-dashboard.ts'
import { writeDocs } from './docs/write-docs.ts'
import { ENTRY_POINTS, UNBUNDLED } from './entry-points.ts'
import { assembleImage } from './image/assemble-image.ts'
import { assembleSidecarProgram } from './image/sidecar-program.ts'
import { launcherOf } from './launcher.ts'
import { bundledPackages, noticesOf } from './release/bundled-packages.ts'

/**
 * Bundles the processes, the CLI and the dashboard into `dist/`, for the image (`dist/image`) and the released CLI, and
 * writes the documentation (`dist/docs`).
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const outArgument = process.argv.indexOf('--out')
const out = outArgument === -1 ? join(root, 'dist') : (process.argv[outArgument + 1] ?? join(root, 'dist'))
const bin = join(out, 'bin')
/** Data files of the programs: path in the checkout, and path in the output, at which the programs read the file. */
const ASSETS: ReadonlyArray<readonly [from: string, to: string]> = [
  ['controlplane/db/schema/migrations', 'bin/migrations'],
  ['controlplane/cli/up/starter', 'bin/starter'],
  ['starters', 'bin/starters'],
  ['controlplane/cli/run/node-preload', 'bin/node-preload'],
]

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const missing = Object.values(ENTRY_POINTS).filter((entry) => !existsSync(join(root, entry)))
if (missing.length > 0) throw new Error(`Entry points are missing: ${missing.join(', ')}`)
await build({
  entryPoints: Object.fromEntries(
    Object.entries(ENTRY_POINTS).map(([name, file]) => [name, join(root, file)]),
  ),
  outdir: bin,
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  splitting: false,
  minifySyntax: true,
  legalComments: 'none',
  external: UNBUNDLED,
  logLevel: 'warning',
  // CommonJS packages in the bundle load Node's modules with `require`, which ES modules do not have.
  banner: {
    js: "import { createRequire as chaperoneRequire } from 'node:module'; const require = chaperoneRequire(import.meta.url);",
  },
})
for (const [from, to] of ASSETS) cpSync(join(root, from), join(out, to), { recursive: true })
assembleSidecarProgram(root, bin)
writeFileSync(join(bin, 'chaperone'), launcherOf('chaperone', 'cli.js'), { mode: 0o755 })
writeFileSync(join(bin, 'kubectl-chaperone'), launcherOf('kubectl chaperone', 'kubectl-chaperone.js'), {
  mode: 0o755,
})
await buildDashboard(join(out, 'dashboard'))
writeFileSync(join(out, 'package.json'), packageText())
writeFileSync(join(out, 'THIRD-PARTY-NOTICES.txt'), noticesOf(await bundledPackages(root)))
cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'))
assembleImage(out)
writeDocs(root, join(out, 'docs'))
report()

/**
 * Returns the `package.json` of the released npm package. Its optional dependencies are the PostgreSQL binaries, for
 * installations on one machine.
 */
function packageText(): string {
  const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>
  const shipped = {
    name: own['name'],
    version: own['version'],
    description: own['description'],
    license: own['license'],
    type: 'module',
    engines: { node: '>=24' },
    bin: { chaperone: 'bin/chaperone', 'kubectl-chaperone': 'bin/kubectl-chaperone' },
    // The package does not contain the folder `image`.
    files: ['bin', 'dashboard', 'docs', 'CHANGELOG.md', 'THIRD-PARTY-NOTICES.txt'],
    optionalDependencies: own['optionalDependencies'],
  }
  return `${JSON.stringify(shipped, null, 2)}\n`
}

function report(): void {
  for (const name of readdirSync(bin)
    .filter((file) => file.endsWith('.js'))
    .sort()) {
    console.log(`${name.padEnd(18)} ${(statSync(join(bin, name)).size / 1024).toFixed(0).padStart(6)} KiB`)
  }
}
