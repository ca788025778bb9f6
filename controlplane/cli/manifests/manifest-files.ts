import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { type Document, LineCounter } from 'yaml'
import { readYamlDocuments, TOO_DEEP } from '../../../core/crd/manifests/yaml-documents.ts'
import { ManifestResource } from '../../../core/crd/schemas.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { fieldPath } from '../../../core/field-path.ts'
import { fieldProblemText, parseFields } from '../../../core/schema/parse-fields.ts'
import { unstorableIn } from '../../../core/storable.ts'

/** Maximum number of YAML aliases in a document. The manifests watcher has the same limit. */
const MAX_ALIASES = 50

/** Matches the names of manifest files in a folder. The manifests watcher also ignores all other files. */
export const MANIFEST_FILE = /^[^.].*\.ya?ml$/

export type ManifestFile = { readonly path: string; readonly text: string }
export type Checked = {
  readonly resources: readonly ManifestResource[]
  /** Problems of the file, each as `file:line: problem`. */
  readonly problems: readonly string[]
}

/** Reads the named files, and the YAML files of named folders. Throws `validation` for a name that does not exist. */
export function readManifestFiles(names: readonly string[], cwd: string): ManifestFile[] {
  return names.flatMap((name) => {
    const path = resolve(cwd, name)
    if (!existsSync(path)) throw new ChaperoneError('validation', { detail: `${name} does not exist.` })
    if (!statSync(path).isDirectory()) return [{ path, text: readFileSync(path, 'utf8') }]
    const inside = readdirSync(path).filter((file) => MANIFEST_FILE.test(file))
    return inside
      .sort()
      .map((file) => ({ path: join(path, file), text: readFileSync(join(path, file), 'utf8') }))
  })
}

/** Validates every document of a file with the schemas of the control plane. */
export function checkManifest({ path, text }: ManifestFile): Checked {
  const lines = new LineCounter()
  const { documents, tooDeepAt } = readYamlDocuments(text, lines)
  const at = (offset: number) => `${basename(path)}:${lines.linePos(offset).line}`
  if (tooDeepAt !== null) return { resources: [], problems: [`${at(tooDeepAt)}: ${TOO_DEEP}`] }
  const checked = documents.map((document) => checkDocument(document, at))
  return {
    resources: checked.flatMap(({ resources }) => resources),
    problems: checked.flatMap(({ problems }) => problems),
  }
}

function checkDocument(document: Document.Parsed, at: (offset: number) => string): Checked {
  if (document.errors.length > 0) {
    const problems = document.errors.map(
      ({ pos, message }) => `${at(pos[0])}: not valid YAML: ${firstLine(message)}`,
    )
    return { resources: [], problems }
  }
  const start = document.contents?.range?.[0] ?? 0
  const { value, problem } = plainValue(document)
  if (problem !== undefined) return { resources: [], problems: [`${at(start)}: ${problem}`] }
  if (value === null || value === undefined) return { resources: [], problems: [] }
  const { kind } = value as { readonly kind?: unknown }
  const checked = parseFields(schemaOf(kind), value, { kind })
  if (checked.problems === null) return { resources: [checked.data], problems: [] }
  const problems = checked.problems.map(
    (found) => `${at(offsetOf(document, found.path) ?? start)}: ${fieldProblemText(found, 'the document')}`,
  )
  return { resources: [], problems }
}

/**
 * Returns the schema of the kind. For an unknown kind, returns the union of all schemas, whose problems are less
 * precise.
 */
const schemaOf = (kind: unknown) =>
  ManifestResource.options.find((option) => option.shape.kind.value === kind) ?? ManifestResource

/**
 * Returns the value of a YAML document, or a problem of the document that does not depend on the schema of its kind.
 */
function plainValue(document: Document.Parsed): { readonly value?: unknown; readonly problem?: string } {
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES })
    const unstorable = unstorableIn(value)
    if (unstorable === null) return { value }
    return { problem: `${fieldPath(unstorable.path) || 'the document'} ${unstorable.why}` }
  } catch (cause) {
    return { problem: cause instanceof Error ? cause.message : String(cause) }
  }
}

type Located = { getIn(path: readonly unknown[], keepScalar: boolean): unknown }

/**
 * Returns the offset, in characters, of the value at the path. If the value does not exist, returns the offset of the
 * nearest existing parent.
 */
function offsetOf(document: Located, path: readonly PropertyKey[]): number | undefined {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as { range?: readonly number[] } | undefined
    if (node?.range !== undefined) return node.range[0]
  }
  return undefined
}

function firstLine(message: string): string {
  return message.split('\n')[0] ?? message
}
