type Json = { readonly [key: string]: unknown }

/** A field of a body, with its path, such as `approvals[].agent.name`. */
export type ApiField = {
  readonly path: string
  readonly type: string
  readonly isRequired: boolean
  readonly description: string
}

/** Maximum nesting depth of the fields in the tables. Deeper fields are only in the OpenAPI document. */
const MAX_DEPTH = 6

/** Returns the fields of a JSON schema. The fields of a nested object follow the field that contains the object. */
export function apiFields(schema: Json): readonly ApiField[] {
  return [...fieldsOf(schema, { root: schema, path: '', depth: 0 })]
}

/** Returns the type of a value in words, such as `string or null` or `list of object`. */
export function typeText(schema: Json, root: Json = schema): string {
  const own = resolved(schema, root)
  const variants = variantsOf(own)
  if (variants.length > 0) return [...new Set(variants.map((each) => typeText(each, root)))].join(' or ')
  if ('const' in own) return `\`${JSON.stringify(own['const'])}\``
  if (Array.isArray(own['enum'])) return own['enum'].map((value) => `\`${String(value)}\``).join(', ')
  if (own['type'] === 'array') return `list of ${typeText(objectOf(own['items']), root)}`
  if (own['type'] === 'object' && own['properties'] === undefined) return 'map'
  return own['type'] === undefined ? 'any value' : [own['type']].flat().join(' or ')
}

type Place = { readonly root: Json; readonly path: string; readonly depth: number }

function* fieldsOf(schema: Json, { root, path, depth }: Place): Generator<ApiField> {
  if (depth > MAX_DEPTH) return
  const known = new Set<string>()
  for (const { inner, step } of objectsIn(schema, root)) {
    const required = (inner['required'] ?? []) as readonly string[]
    for (const [name, field] of Object.entries(objectOf(inner['properties']))) {
      const at = `${path}${step}${name}`
      // Variants of a union may have the same field.
      if (known.has(at)) continue
      known.add(at)
      const own = objectOf(field)
      const description = String(own['description'] ?? resolved(own, root)['description'] ?? '')
      yield { path: at, type: typeText(own, root), isRequired: required.includes(name), description }
      yield* fieldsOf(own, { root, path: at, depth: depth + 1 })
    }
  }
}

/**
 * Returns the schemas of the objects in a value: the value itself, the items of a list, the values of a map, and the
 * objects in each variant of a union.
 */
function objectsIn(
  schema: Json,
  root: Json,
  step = '.',
): ReadonlyArray<{ readonly inner: Json; readonly step: string }> {
  const own = resolved(schema, root)
  const variants = variantsOf(own)
  if (variants.length > 0) return variants.flatMap((each) => objectsIn(each, root, step))
  if (own['properties'] !== undefined) return [{ inner: own, step }]
  if (own['type'] === 'array') return objectsIn(objectOf(own['items']), root, '[].')
  const values = own['additionalProperties']
  return typeof values === 'object' ? objectsIn(objectOf(values), root, '.*.') : []
}

function variantsOf(schema: Json): readonly Json[] {
  const list = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf']
  return Array.isArray(list) ? list.map(objectOf) : []
}

/** Follows a reference into the definitions of the whole schema. */
function resolved(schema: Json, root: Json): Json {
  const ref = schema['$ref']
  if (typeof ref !== 'string') return schema
  const steps = ref.replace(/^#\/?/, '').split('/').filter(Boolean)
  return steps.reduce<Json>((value, step) => objectOf(value[step]), root)
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}
