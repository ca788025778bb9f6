import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const STARTER_DIR = fileURLToPath(new URL('./starter/', import.meta.url))

/** Writes the starter set when the folder does not exist. An existing folder, an empty one too, is left alone. */
export function ensureManifests(dir: string): { readonly created: boolean } {
  if (existsSync(dir)) return { created: false }
  const unfinished = `${dir}.new`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(dirname(dir), { recursive: true })
  // People put credentials into these files.
  mkdirSync(unfinished, { mode: 0o700 })
  for (const name of readdirSync(STARTER_DIR)) copyFileSync(join(STARTER_DIR, name), join(unfinished, name))
  renameSync(unfinished, dir)
  return { created: true }
}
