import { type Refusal, refusal } from '../../request/canonical.ts'
import type { BodyView, Row } from '../connector.ts'
import { isRecord } from '../fields/fields.ts'
import type { PathSegments } from '../rows/rows.ts'

/**
 * Maps the snake case spelling of a field name to its camel case (`email_address` to `emailAddress`), because protobuf
 * JSON accepts both.
 */
export type FieldNames = ReadonlyMap<string, string>

export function fieldNamesOf(rows: readonly Row[]): FieldNames {
  const names = rows.flatMap(({ parameters = [] }) => parameters)
  return new Map(names.filter((name) => snakeCase(name) !== name).map((name) => [snakeCase(name), name]))
}

export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Returns the body with the field names that rows and policies use. Refuses a body with both spellings of a field. */
export function readFieldNames(
  body: BodyView | undefined,
  names: FieldNames,
): BodyView | Refusal | undefined {
  if (body?.kind !== 'json' || !isRecord(body.value)) return body
  const members = Object.entries(body.value)
  if (!members.some(([name]) => names.has(name))) return body
  const renamed = members.map(([name, value]) => [names.get(name) ?? name, value] as const)
  const value = Object.fromEntries(renamed)
  return Object.keys(value).length === renamed.length
    ? { ...body, value }
    : refusal(
        'ambiguous_request',
        'the body has a field in both of its spellings (`displayName`, `display_name`); send one of them',
      )
}

/** Returns the query with the field names that rows and policies use. */
export function readQueryNames(
  query: ReadonlyArray<readonly [string, string]>,
  names: FieldNames,
): ReadonlyArray<readonly [string, string]> {
  return query.some(([name]) => names.has(name))
    ? query.map(([name, value]) => [names.get(name) ?? name, value] as const)
    : query
}

const COLLECTIONS: ReadonlySet<string> = new Set(['models', 'tunedModels', 'dynamic'])

/**
 * Refuses a body whose model differs from that of the path. The decision follows the path, but a server may use the
 * body.
 */
export function judgeModel({ segments }: PathSegments, body: BodyView | undefined): Refusal | null {
  const [collection = '', id = '', verb = ''] = segments.slice(-3)
  if (body?.kind !== 'json' || !COLLECTIONS.has(collection) || !verb.startsWith(':')) return null
  const same: readonly unknown[] = [undefined, null, '', id, `${collection}/${id}`]
  if (modelsIn(body.value).every((model) => same.includes(model))) return null
  return refusal(
    'ambiguous_request',
    `the model in the body differs from the model in the path, ${collection}/${id}; send the same model`,
  )
}

/** Paths of JSON members that name a model in addition to the path of the request. */
export const MODEL_PATHS: readonly string[] = [
  'model',
  'requests.*.model',
  'requests.model',
  'generateContentRequest.model',
  'generate_content_request.model',
  'batch.model',
]

function modelsIn(body: unknown): readonly unknown[] {
  if (!isRecord(body)) return []
  const requests = [body['requests']].flat()
  const inner = [body['generateContentRequest'], body['generate_content_request'], body['batch'], ...requests]
  return [body, ...inner].map((message: unknown) => (isRecord(message) ? message['model'] : undefined))
}
