import { isId, isReaching, type PublishedFields } from './provider-fields.ts'

type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: boolean | Schema
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

type Operation = {
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> }
}

/** An OpenAPI file, as far as it describes bodies of requests. */
export type OpenApi = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/**
 * Returns the fields with a host, a URL or an id in the bodies of requests, and the types of tools. A field under a key
 * of the caller's choice has `?` in its path. Several paths in one schema with the same last elements are listed once,
 * because a row of the table has only the end of a path.
 */
export function openApiFields({ paths, components }: OpenApi): PublishedFields {
  const walk: Walk = {
    schemas: components.schemas,
    seen: new Set(),
    names: new Set(),
    paths: new Set(),
    ids: new Set(),
    tools: new Set(),
  }
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    for (const { schema } of Object.values(operation.requestBody?.content ?? {}))
      if (schema !== undefined) walkSchema(walk, schema, ['^'])
  }
  return {
    fields: [...walk.names].filter(isReaching).sort(),
    paths: [...walk.paths].sort(),
    ids: [...walk.ids].sort(),
    tools: [...walk.tools].sort(),
  }
}

type Walk = {
  readonly schemas: Readonly<Record<string, Schema>>
  readonly seen: Set<string>
  readonly names: Set<string>
  readonly paths: Set<string>
  readonly ids: Set<string>
  readonly tools: Set<string>
}

const TAIL = 3
const MAX_DEPTH = 16
const REFERENCE = '#/components/schemas/'

function walkSchema(walk: Walk, schema: Schema, path: readonly string[]): void {
  if (path.length > MAX_DEPTH) return
  if (schema.$ref !== undefined) {
    const key = `${schema.$ref} ${path.slice(-TAIL).join('.')}`
    const isNew = !walk.seen.has(key)
    walk.seen.add(key)
    if (isNew) walkSchema(walk, resolve(walk, schema), path)
    return
  }
  for (const part of partsOf(schema)) walkSchema(walk, part, path)
  if (schema.items !== undefined) walkSchema(walk, schema.items, [...path, '*'])
  if (typeof schema.additionalProperties === 'object')
    walkSchema(walk, schema.additionalProperties, [...path, '?'])
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    addField(walk, { name, property, path: [...path, name] })
    walkSchema(walk, property, [...path, name])
  }
}

type Field = { readonly name: string; readonly property: Schema; readonly path: readonly string[] }

function addField(walk: Walk, { name, property, path }: Field): void {
  walk.names.add(name)
  const own = textPath(walk, property, path)
  if (own !== null && isReaching(name)) walk.paths.add(own)
  if (own !== null && isId(name)) walk.ids.add(own)
  const isToolType = name === 'type' && path.at(-2) === '*' && path.at(-3) === 'tools'
  if (isToolType) for (const value of property.enum ?? []) walk.tools.add(String(value))
}

/** Returns the path of a field with text or a list of texts; null for any other field. */
function textPath(walk: Walk, schema: Schema, path: readonly string[]): string | null {
  const forms = formsOf(walk, schema)
  if (forms.some(isText)) return path.join('.')
  const hasTexts = forms.some(({ items }) => items !== undefined && formsOf(walk, items).some(isText))
  return hasTexts ? `${path.join('.')}.*` : null
}

function isText({ type, enum: values }: Schema): boolean {
  return values === undefined && [type ?? []].flat().includes('string')
}

/** Returns the schemas that a value may have, without references and unions. */
function formsOf(walk: Pick<Walk, 'schemas'>, schema: Schema, depth = 0): readonly Schema[] {
  if (depth > MAX_DEPTH) return []
  const own = resolve(walk, schema)
  return [own, ...partsOf(own).flatMap((part) => formsOf(walk, part, depth + 1))]
}

function partsOf({ allOf = [], anyOf = [], oneOf = [] }: Schema): readonly Schema[] {
  return [...allOf, ...anyOf, ...oneOf]
}

function resolve({ schemas }: Pick<Walk, 'schemas'>, schema: Schema): Schema {
  return schema.$ref === undefined ? schema : (schemas[schema.$ref.replace(REFERENCE, '')] ?? {})
}
