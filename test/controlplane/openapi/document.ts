import { at, type Call } from '../routes/start.ts'

export type Schema = {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly format?: string
  readonly minimum?: number
  readonly minLength?: number
  readonly default?: unknown
  readonly additionalProperties?: Schema | boolean
  readonly pattern?: string
}

export type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly schema: Schema
}

export type Operation = {
  readonly method: string
  readonly path: string
  readonly security: readonly string[]
  readonly minimumRole: string | undefined
  /** `resource/verb`; undefined for routes that require none. */
  readonly right: string | undefined
  /** Whether the right in some namespaces suffices. */
  readonly isNamespaced: boolean
  readonly parameters: readonly Parameter[]
  readonly body: Schema | undefined
  readonly statuses: readonly number[]
  /** Of JSON answers, by status. */
  readonly schemas: Readonly<Record<string, unknown>>
  readonly successType: string
}

/** Every operation that the running control plane says it has. */
export async function readOperations(call: Call): Promise<readonly Operation[]> {
  const { body } = await call('GET', '/api/openapi.json')
  return Object.entries(at<Record<string, Record<string, unknown>>>(body, 'paths')).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        security: at<object[]>(operation, 'security').flatMap((scheme) => Object.keys(scheme)),
        minimumRole: at<string | undefined>(operation, 'x-minimum-role'),
        right: at<string | undefined>(operation, 'x-required-right'),
        isNamespaced: at<boolean | undefined>(operation, 'x-namespaced') === true,
        parameters: at<Parameter[]>(operation, 'parameters'),
        body: at<Schema | undefined>(operation, 'requestBody', 'content', 'application/json', 'schema'),
        statuses: Object.keys(at<object>(operation, 'responses')).map(Number),
        schemas: Object.fromEntries(
          Object.entries(at<object>(operation, 'responses')).map(([status, answer]) => [
            status,
            at<unknown>(answer, 'content', 'application/json', 'schema'),
          ]),
        ),
        successType: Object.keys(at<object>(operation, 'responses', '200', 'content'))[0] ?? '',
      })),
  )
}

/** Values that the schema takes, as far as it says: one for each alternative. */
export function samples(schema: Schema): readonly unknown[] {
  const alternatives = schema.oneOf ?? schema.anyOf
  if (alternatives !== undefined) return alternatives.flatMap(samples)
  if ('const' in schema) return [schema.const]
  if (schema.enum !== undefined) return [schema.enum[0]]
  if (schema.allOf !== undefined) return [Object.assign({}, ...schema.allOf.map((part) => samples(part)[0]))]
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object':
      return objects(schema)
    case 'array':
      return [schema.items === undefined ? [] : samples(schema.items).slice(0, 1)]
    case 'string':
      return [text(schema)]
    case 'integer':
    case 'number':
      return [Math.max(schema.minimum ?? 1, 1)]
    case 'boolean':
      return [true]
    default:
      return ['anything']
  }
}

/** What the other fields of a sample have to be for a field to be accepted: only connectors of type mcp have an endpoint. */
const REQUIRES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = { endpoint: { type: 'mcp' } }

function objects(schema: Schema): readonly unknown[] {
  const entries = Object.entries(schema.properties ?? {}).map(([name, own]) => [name, samples(own)] as const)
  const required = entries.map(([name]) => REQUIRES[name] ?? {})
  const first = Object.assign(
    Object.fromEntries(entries.map(([name, values]) => [name, values[0]])),
    ...required,
  )
  const others = entries.flatMap(([name, values]) =>
    values.slice(1).map((value) => ({ ...first, [name]: value })),
  )
  return [first, ...others]
}

function text({ format, pattern, minLength }: Schema): string {
  if (format === 'email') return 'somebody@example.com'
  if (format === 'uri') return 'http://127.0.0.1:1'
  if (format === 'date-time') return '2026-01-01T00:00:00Z'
  if (pattern?.startsWith('^\\/') === true) return '/sample'
  if (pattern?.includes('^1(') === true) return '1.0'
  return 'sample'.padEnd(minLength ?? 0, 'x')
}

/** Paths of every text in a value. */
export function textPaths(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value === 'string') return [path]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => textPaths(item, [...path, key]))
}

/** A copy with another value at a path. */
export function replaced(value: unknown, path: readonly string[], by: unknown): unknown {
  const [key, ...rest] = path
  if (key === undefined) return by
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === key ? replaced(item, rest, by) : item))
  const record = value as Record<string, unknown>
  return { ...record, [key]: replaced(record[key], rest, by) }
}
