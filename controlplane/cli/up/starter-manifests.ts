import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { editorSchema } from '../../../core/crd/editor-schema.ts'

export const STARTER_DIR = fileURLToPath(new URL('./starter/', import.meta.url))

/** Beside the manifests, where their first line names it for editors. */
const SCHEMA_FILE = 'manifest.schema.json'

/**
 * Writes the starter set when the folder does not exist. An existing folder, an empty one too, is left alone, but for
 * the editors' schema in it, which follows the program.
 */
export function ensureManifests(dir: string): { readonly created: boolean } {
  if (existsSync(dir)) {
    refreshSchema(join(dir, SCHEMA_FILE))
    return { created: false }
  }
  const unfinished = `${dir}.new`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(dirname(dir), { recursive: true, mode: 0o755 })
  // People put credentials into these files.
  mkdirSync(unfinished, { mode: 0o700 })
  for (const name of readdirSync(STARTER_DIR)) copyFileSync(join(STARTER_DIR, name), join(unfinished, name))
  writeFileSync(join(unfinished, SCHEMA_FILE), editorSchema())
  renameSync(unfinished, dir)
  return { created: true }
}

function refreshSchema(file: string): void {
  const schema = editorSchema()
  if (existsSync(file) && readFileSync(file, 'utf8') !== schema) writeFileSync(file, schema)
}
