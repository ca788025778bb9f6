import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { checkOutRevision, compress } from './freeze/revision.ts'

/**
 * Stores the bundled sidecar and control plane of a revision (`node scripts/freeze-bundle.ts REVISION`) for the tests
 * of version skew. Writes `test/skew/frozen/VERSION-COMMIT.json.br` with the files of both programs, and the field
 * paths of the sections that gateways synchronize. The same revision gives the same bytes.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'test/skew/frozen')
const PROGRAMS = ['controlplane', 'sidecar'] as const
const MIGRATIONS = 'controlplane/db/schema/migrations'
/** Source of a script that runs in the extracted checkout. It prints the paths of all fields of each section. */
const FIELDS_ENTRY = `
import { AgentEntry, ConnectorEntry, GatewaySection, PermissionEntry, PolicyEntry } from './core/wire/gateway/sync.ts'
import { fieldPaths } from './core/wire/tolerant.ts'
const sections = { gateway: GatewaySection, agents: AgentEntry, connectors: ConnectorEntry, policies: PolicyEntry, permissions: PermissionEntry }
const paths = Object.entries(sections).map(([name, schema]) => [name, [...fieldPaths(schema)].sort()])
process.stdout.write(JSON.stringify(Object.fromEntries(paths)))
`

const [revision] = process.argv.slice(2)
if (revision === undefined) throw new Error('Name a revision: node scripts/freeze-bundle.ts REVISION')
using frozen = checkOutRevision(revision, ['core', 'kube', 'runtime', 'controlplane', 'sidecar'])
const { commit, checkout } = frozen
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
const files = { ...(await programFiles()), ...migrationFiles(), 'fields.json': fieldsText() }
const text = JSON.stringify({ version, commit, files })
mkdirSync(folder, { recursive: true })
for (const name of readdirSync(folder)) if (name.endsWith('.json.br')) rmSync(join(folder, name))
const file = join(folder, `${version}-${commit.slice(0, 12)}.json.br`)
const bytes = compress(text)
writeFileSync(file, bytes)
process.stdout.write(`${relative(root, file)}: ${Math.round(bytes.length / 1024)} KiB\n`)

async function programFiles(): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for (const program of PROGRAMS) {
    const { outputFiles } = await build({
      absWorkingDir: checkout,
      entryPoints: { main: `${program}/main.ts` },
      bundle: true,
      platform: 'node',
      target: 'node24',
      format: 'cjs',
      minify: true,
      // Keeps class names, because errors and logs contain them.
      keepNames: true,
      preserveSymlinks: true,
      legalComments: 'none',
      // These packages are optional, and `npm ci` does not install them. The command line loads the first one. A driver
      // of `pg` loads the others.
      external: ['@kubernetes/client-node', 'pg-cloudflare', 'pg-native'],
      plugins: [withDirnames(program)],
      write: false,
    })
    files[`${program}/main.cjs`] = outputFiles[0]?.text ?? ''
  }
  return files
}

/**
 * Creates an esbuild plugin that replaces `import.meta.dirname` with the folder of the source file, relative to the
 * folder into which the test unpacks the bundle.
 */
function withDirnames(program: string): Plugin {
  return {
    name: 'dirnames',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        if (!text.includes('import.meta.dirname')) return null
        const place = JSON.stringify(relative(join(checkout, program), dirname(path)))
        const contents = text.replaceAll(
          'import.meta.dirname',
          `require('node:path').join(__dirname, ${place})`,
        )
        return { contents, loader: 'ts' }
      })
    },
  }
}

function migrationFiles(): Record<string, string> {
  const names = readdirSync(join(checkout, MIGRATIONS)).filter((name) => name.endsWith('.sql'))
  return Object.fromEntries(
    names
      .sort()
      .map((name) => [`${MIGRATIONS}/${name}`, readFileSync(join(checkout, MIGRATIONS, name), 'utf8')]),
  )
}

function fieldsText(): string {
  const entry = join(checkout, 'fields.ts')
  writeFileSync(entry, FIELDS_ENTRY)
  return execFileSync(process.execPath, [entry], { cwd: checkout, encoding: 'utf8' })
}
