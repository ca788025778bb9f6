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

/** File name of the JSON schema for editors, which the first line of each manifest references. */
const SCHEMA_FILE = 'manifest.schema.json'

/**
 * Creates the manifests folder with the starter manifests. Does not change an existing folder, even an empty one,
 * except for its JSON schema, which must match the version of the program.
 */
export function ensureManifests(dir: string): { readonly created: boolean } {
  if (existsSync(dir)) {
    refreshSchema(join(dir, SCHEMA_FILE))
    return { created: false }
  }
  const unfinished = `${dir}.new`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(dirname(dir), { recursive: true, mode: 0o755 })
  // The mode is 0700, because users put credentials into the manifests.
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
