import type { Document, Node } from 'yaml'
import { isMap, isScalar, LineCounter } from 'yaml'
import * as z from 'zod'
import type { FieldLines } from '../../core/crd/manifests/field-lines.ts'
import { readYamlDocuments, TOO_DEEP } from '../../core/crd/manifests/yaml-documents.ts'
import {
  API_VERSION,
  ConnectorResource,
  GatewayResource,
  type ManifestResource,
  PermissionResource,
  PolicyResource,
  SecretResource,
} from '../../core/crd/schemas.ts'
import { fieldPath } from '../../core/field-path.ts'
import { nearest } from '../../core/nearest.ts'
import { fieldProblemText, parseFields } from '../../core/schema/parse-fields.ts'
import { unstorableIn } from '../../core/storable.ts'
import type { ManifestProblem } from '../../core/wire/operator/operator.ts'
import { fieldLines } from './field-lines.ts'
import { DEFAULT_NAMESPACE, headOf, illegibleHead, type ManifestHead } from './manifest-head.ts'

/** The object that one document of a manifest file declares, and its place. */
export type ManifestObject = {
  readonly key: string
  readonly kind: ManifestResource['kind']
  readonly namespace: string
  readonly name: string
  readonly file: string
  readonly line: number
  readonly lines: FieldLines
  readonly resource: ManifestResource
}

export type ParsedManifest = {
  readonly objects: readonly ManifestObject[]
  readonly problems: readonly ManifestProblem[]
  /** Heads of all documents that are not empty, broken documents included. */
  readonly heads: readonly ManifestHead[]
}
type ParsedDocument = Omit<ParsedManifest, 'heads'>

/**
 * A Secret in a file. The schema is strict, unlike that of a Secret in a cluster: `data`, or a misspelt `stringData`,
 * would leave the Connector without a credential.
 */
const FolderSecret = z.strictObject({
  ...SecretResource.shape,
  type: z.string().optional(),
  immutable: z.boolean().optional(),
})

const SCHEMAS = {
  Gateway: GatewayResource,
  Connector: ConnectorResource,
  Permission: PermissionResource,
  Policy: PolicyResource,
  Secret: FolderSecret,
} as const

type Kind = keyof typeof SCHEMAS
type Source = { readonly file: string; readonly lines: LineCounter }

/**
 * Parses one manifest file with one or more documents. Every problem names the file, the line and the change to make. A
 * file with a problem is not applied: its `objects` are informative only.
 */
export function parseManifests(file: string, text: string): ParsedManifest {
  const source: Source = { file, lines: new LineCounter() }
  const { documents, tooDeepAt } = readYamlDocuments(text, source.lines)
  const heads = documents
    .filter((document) => document.errors.length > 0 || !isEmpty(document))
    .map((document) => headOf(document, lineAt(document, [], source)))
  if (tooDeepAt !== null) {
    const { line } = source.lines.linePos(tooDeepAt)
    return { ...problem(source, line, TOO_DEEP), heads: [...heads, illegibleHead(line)] }
  }
  const objects: ManifestObject[] = []
  const problems: ManifestProblem[] = []
  for (const document of documents) {
    const parsed = parseDocument(document, source)
    problems.push(...parsed.problems)
    objects.push(...parsed.objects)
  }
  return { objects, problems: [...problems, ...duplicates(objects)], heads }
}

/** Returns a problem for each declaration of an object except the first one. */
export function duplicates(objects: readonly ManifestObject[]): ManifestProblem[] {
  const first = new Map<string, ManifestObject>()
  const problems: ManifestProblem[] = []
  for (const object of objects) {
    const earlier = first.get(object.key)
    if (earlier === undefined) first.set(object.key, object)
    else
      problems.push({
        file: object.file,
        line: object.line,
        message: `${object.key} is already declared in ${earlier.file}, line ${earlier.line}; remove one of the two`,
      })
  }
  return problems
}

function parseDocument(document: Document.Parsed, source: Source): ParsedDocument {
  if (document.errors.length > 0)
    return { objects: [], problems: document.errors.map((e) => yamlProblem(e, source)) }
  if (isEmpty(document)) return { objects: [], problems: [] }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 50 })
  } catch (cause) {
    return problem(
      source,
      lineAt(document, [], source),
      cause instanceof Error ? cause.message : String(cause),
    )
  }
  const unstorable = unstorableIn(value)
  if (unstorable === null) return parseValue(value, document, source)
  const { path, why } = unstorable
  return problem(source, lineAt(document, path, source), `${fieldPath(path) || 'the document'} ${why}`)
}

function parseValue(value: unknown, document: Document.Parsed, source: Source): ParsedDocument {
  const found = headProblem(value)
  if (found !== null) return problem(source, lineAt(document, found.path, source), found.message)
  const { kind } = value as { kind: Kind }
  const parsed = parseFields<z.ZodType>(SCHEMAS[kind], value, { kind })
  if (parsed.problems !== null) {
    const problems = parsed.problems.map((found) => ({
      file: source.file,
      line: lineAt(document, found.path, source),
      message: fieldProblemText(found, 'the document'),
    }))
    return { objects: [], problems }
  }
  const resource = parsed.data as ManifestResource
  const namespace = resource.metadata.namespace ?? DEFAULT_NAMESPACE
  const { name } = resource.metadata
  const line = lineAt(document, [], source)
  const key = `${kind}/${namespace}/${name}`
  const lines = fieldLines(document.contents, source.lines)
  return {
    objects: [{ key, kind, namespace, name, file: source.file, line, lines, resource }],
    problems: [],
  }
}

/** Checks `kind` and `apiVersion`, which select the schema. Returns the first problem, or null. */
function headProblem(value: unknown): { path: string[]; message: string } | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { path: [], message: 'a manifest must be a mapping with apiVersion, kind, metadata and spec' }
  }
  const { kind, apiVersion } = value as Record<string, unknown>
  if (typeof kind !== 'string' || !Object.hasOwn(SCHEMAS, kind)) {
    return { path: ['kind'], message: kindProblem(kind) }
  }
  const wanted = kind === 'Secret' ? 'v1' : API_VERSION
  if (apiVersion !== wanted) {
    const given =
      apiVersion === undefined
        ? 'apiVersion is missing'
        : `apiVersion ${JSON.stringify(apiVersion)} is not known`
    return { path: ['apiVersion'], message: `${given}; a ${kind} has apiVersion: ${wanted}` }
  }
  return null
}

function kindProblem(kind: unknown): string {
  const known = Object.keys(SCHEMAS)
  if (kind === undefined) return `kind is missing; use one of ${known.join(', ')}`
  const suggestion = nearest(String(kind), known)
  const advice = suggestion === undefined ? `use one of ${known.join(', ')}` : `did you mean ${suggestion}?`
  return `unknown kind ${JSON.stringify(kind)}; ${advice}`
}

/** Returns the line of the key at `path`, or of its nearest existing parent. */
function lineAt(document: Document.Parsed, path: ReadonlyArray<string | number>, source: Source): number {
  let node: unknown = document.contents
  let offset = offsetOf(node) ?? document.range[0]
  for (const part of path) {
    const next = childOf(node, part)
    if (next === null) break
    offset = next.offset ?? offset
    node = next.node
  }
  return source.lines.linePos(offset).line
}

function childOf(node: unknown, part: string | number): { node: unknown; offset: number | undefined } | null {
  if (isMap(node)) {
    const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(part))
    return pair === undefined ? null : { node: pair.value, offset: offsetOf(pair.key) }
  }
  const items = (node as { items?: unknown[] } | null)?.items
  if (typeof part !== 'number' || items === undefined || part >= items.length) return null
  return { node: items[part], offset: offsetOf(items[part]) }
}

function offsetOf(node: unknown): number | undefined {
  return (node as Node | null)?.range?.[0]
}

function isEmpty(document: Document.Parsed): boolean {
  return document.contents === null || (isScalar(document.contents) && document.contents.value === null)
}

function yamlProblem(
  error: { pos: [number, number]; message: string; code: string },
  source: Source,
): ManifestProblem {
  // The YAML library appends the position and an excerpt to its message. A ManifestProblem has a field for the
  // position.
  const [message] = error.message.split(/ at line \d+|\n/)
  return {
    file: source.file,
    line: source.lines.linePos(error.pos[0]).line,
    message: `not valid YAML: ${message}`,
  }
}

function problem(source: Source, line: number, message: string): ParsedDocument {
  return { objects: [], problems: [{ file: source.file, line, message }] }
}
