import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { type BaseLayers, baseLayers } from '../../scripts/release/base-layers.ts'
import { ownArchitecture } from '../../scripts/release/image-layers.ts'
import { IS_FULL } from '../support/proof.ts'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'node_modules/.cache/cluster-images')
const SOURCES = join(ROOT, 'scripts/release')

type Base = Pick<BaseLayers, 'architecture' | 'layers'>

/**
 * Returns the layers below the programs. Regular runs keep them for a day, because to download and compress them takes 15 s of
 * CPU time; the full proof always makes them. `folder`: folder for the downloads.
 */
export async function cachedBaseLayers(folder: string): Promise<Base> {
  const architecture = ownArchitecture()
  const file = join(FOLDER, `${keyOf(architecture)}.v8`)
  if (!IS_FULL && existsSync(file)) return deserialize(readFileSync(file)) as Base
  const { layers } = await baseLayers(architecture, folder, 0)
  mkdirSync(FOLDER, { recursive: true })
  // Another run may read the file at the same time.
  writeFileSync(`${file}.${process.pid}`, serialize({ architecture, layers }))
  renameSync(`${file}.${process.pid}`, file)
  return { architecture, layers }
}

/** Differs for each day, version of Node, and state of the programs that make the layers. */
function keyOf(architecture: string): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(SOURCES).filter((each) => each.endsWith('.ts')))
    hash.update(readFileSync(join(SOURCES, name)))
  const day = new Date().toISOString().slice(0, 10)
  return [architecture, process.versions.node, day, hash.digest('hex').slice(0, 16)].join('-')
}
