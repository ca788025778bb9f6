type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type Schema = { readonly [key: string]: Json }

/** Drops what a structural schema of Kubernetes forbids, and says what it needs; deterministic. */
export function structural(schema: unknown): Schema {
  return convert(schema as Schema)
}

function convert(schema: Schema): Schema {
  if (isIntOrString(schema)) return intOrString(schema)
  const out: Record<string, Json> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key in HANDLERS) Object.assign(out, HANDLERS[key]?.(value, schema))
    else out[key] = value
  }
  // An object without properties would be pruned to nothing.
  const isOpen =
    out['type'] === 'object' && out['properties'] === undefined && out['additionalProperties'] === undefined
  const isUntyped = out['type'] === undefined && out['anyOf'] === undefined
  return isOpen || isUntyped ? { ...out, 'x-kubernetes-preserve-unknown-fields': true } : out
}

/** A quantity: Kubernetes has an extension for exactly this union, and allows no other. */
function isIntOrString({ anyOf }: Schema): boolean {
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return false
  return (anyOf as Schema[]).map(({ type }) => type).join() === 'string,integer'
}

function intOrString({ anyOf }: Schema): Schema {
  const [text] = anyOf as readonly Schema[]
  const { pattern = '', maxLength = 0 } = text ?? {}
  return {
    'x-kubernetes-int-or-string': true,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    pattern,
    maxLength,
  }
}

type Handler = (value: Json, schema: Schema) => Schema

const HANDLERS: Readonly<Record<string, Handler>> = {
  $schema: () => ({}),
  propertyNames: () => ({}),
  // Unknown fields are refused by the API server's own field validation; next to `properties` this is not allowed.
  additionalProperties: (value, schema) => {
    if (schema['properties'] !== undefined || value === false) return {}
    if (typeof value === 'object' && value !== null && Object.keys(value).length > 0) {
      return { additionalProperties: convert(value as Schema) }
    }
    return { 'x-kubernetes-preserve-unknown-fields': true }
  },
  properties: (value) => ({
    properties: Object.fromEntries(
      Object.entries(value as Schema).map(([name, inner]) => [name, convert(inner as Schema)]),
    ),
  }),
  items: (value) => ({ items: convert(value as Schema) }),
  // A constant is an enumeration of one.
  const: (value) => ({ enum: [value] }),
  // OpenAPI 3.0 writes an exclusive bound as a flag; whole numbers have none here.
  exclusiveMinimum: (value) =>
    typeof value === 'number' ? { minimum: value, exclusiveMinimum: true } : { exclusiveMinimum: value },
  // Patterns are RE2 in Kubernetes as they are here; formats that it does not know are only documentation.
  format: (value) => (value === 'date-time' || value === 'uri' ? { format: value } : {}),
}
