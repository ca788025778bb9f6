import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sha256Hex } from '../runtime/sha256.ts'
import { option } from './option.ts'
import { ARCHITECTURES, type Architecture } from './release/architecture.ts'
import { baseLayers } from './release/base-layers.ts'
import { billOfMaterials } from './release/bill-of-materials.ts'
import { bundledPackages } from './release/bundled-packages.ts'
import { chartArchive } from './release/chart-archive.ts'
import { packTree } from './release/file-tree.ts'
import { IMAGE_RUN, ownArchitecture, programTree } from './release/image-layers.ts'
import { imageLayout, layerOf, type PlatformImage } from './release/oci-layout.ts'

/**
 * Writes the files of a release into `dist/release`: the npm package of the CLI, the image as an OCI layout, the chart
 * that names the image by its digest, bills of materials, and checksums. Runs only on Debian, because the image
 * consists of Debian's packages. The same commit and the same packages give the same bytes.
 * - `--out FOLDER`: writes into this folder instead, and removes its previous content
 * - `--platform ARCH`: builds the image for one architecture only
 * - `--uncommitted`: accepts a checkout with changes that are not committed
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const out = option('--out') ?? join(root, 'dist/release')
const work = join(root, 'node_modules/.cache/chaperone/release')
const { name, version, description } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as Readonly<Record<'name' | 'version' | 'description', string>>
const timeS = Number(git('log', '-1', '--format=%ct'))
const run = { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] } satisfies object

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
}

function say(text: string): void {
  console.log(`release: ${text}`)
}

function refuse(text: string): never {
  console.error(`release: ${text}`)
  process.exit(1)
}

/**
 * Returns the files of the programs for one architecture. Omits the code cache of the sidecar for another architecture
 * than that of this machine, because a code cache is valid only for the architecture on which it was created.
 */
function programsFor(architecture: Architecture) {
  const tree = programTree(join(build, 'image'))
  if (architecture !== ownArchitecture()) tree.delete('app/bin/sidecar-program.cache')
  return tree
}

if (!process.argv.includes('--uncommitted') && git('status', '--porcelain') !== '')
  refuse('The checkout has changes that are not committed. Commit them, or add --uncommitted.')
const wanted = ARCHITECTURES.filter((each) => (option('--platform') ?? each) === each)
if (wanted.length === 0) refuse(`--platform is one of ${ARCHITECTURES.join(', ')}.`)

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const build = join(work, 'build')
say('programs and dashboard')
execFileSync(process.execPath, [join(root, 'scripts/build.ts'), '--out', build], { ...run, stdio: 'ignore' })
const npm = await bundledPackages(root)
for (const file of ['README.md', 'CHANGELOG.md']) cpSync(join(root, file), join(build, file))

say('npm package')
execFileSync('npm', ['pack', build, '--pack-destination', out, '--loglevel=error'], {
  ...run,
  stdio: 'ignore',
})
const bill = (image?: Parameters<typeof billOfMaterials>[0]['image']) =>
  billOfMaterials({ name, version, timeS, npm, image })
writeFileSync(join(out, `${name}-${version}.npm.cdx.json`), bill())

const images: PlatformImage[] = []
for (const architecture of wanted) {
  say(`image for ${architecture}`)
  const { layers, debian, release } = await baseLayers(architecture, work, timeS)
  const programs = await layerOf(`Chaperone ${version}`, programsFor(architecture), timeS)
  images.push({ architecture, layers: [...layers, programs] })
  const image = { architecture, debian, release, nodeVersion: process.versions.node }
  writeFileSync(join(out, `${name}-${version}.image-${architecture}.cdx.json`), bill(image))
}
const { tree, digest } = imageLayout(
  {
    name: `${name}:${version}`,
    timeS,
    labels: {
      'org.opencontainers.image.title': name,
      'org.opencontainers.image.description': description,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': git('rev-parse', 'HEAD'),
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
    run: IMAGE_RUN,
  },
  images,
)
writeFileSync(join(out, `${name}-${version}.image.oci.tar`), await packTree(tree, timeS))

say('chart')
const chart = await chartArchive(join(root, 'helm'), digest, timeS)
writeFileSync(join(out, `${name}-chart-${version}.tgz`), chart)

const sums = readdirSync(out)
  .sort()
  .map((file) => `${sha256Hex(readFileSync(join(out, file)))}  ${file}\n`)
writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
say(`image ${digest}`)
for (const file of readdirSync(out).sort()) say(join(out, file))
