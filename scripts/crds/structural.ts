import { explainText } from '../reference/field-facts.ts'

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type Schema = { readonly [key: string]: Json }

/** Converts a JSON schema to a structural schema of Kubernetes. Equal inputs give equal outputs. */
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
  // Without this extension, the API server prunes all fields of an object whose schema has no properties.
  const isOpen =
    out['type'] === 'object' && out['properties'] === undefined && out['additionalProperties'] === undefined
  const isUntyped = out['type'] === undefined && out['anyOf'] === undefined
  const described = { ...explained(schema), ...out }
  return isOpen || isUntyped ? { ...described, 'x-kubernetes-preserve-unknown-fields': true } : described
}

/** Returns the description that `kubectl explain` shows. */
function explained(schema: Schema): Schema {
  return schema['description'] === undefined ? {} : { description: explainText(schema) }
}

/**
 * Reports whether a schema is a quantity: text or an integer. Kubernetes allows this union only with the extension
 * `x-kubernetes-int-or-string`.
 */
function isIntOrString({ anyOf }: Schema): boolean {
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return false
  return (anyOf as Schema[]).map(({ type }) => type).join() === 'string,integer'
}

function intOrString(schema: Schema): Schema {
  const [text] = schema['anyOf'] as readonly Schema[]
  const { pattern = '', maxLength = 0 } = text ?? {}
  return {
    ...explained(schema),
    'x-kubernetes-int-or-string': true,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    pattern,
    maxLength,
  }
}

type Handler = (value: Json, schema: Schema) => Schema

const HANDLERS: Readonly<Record<string, Handler>> = {
  $schema: () => ({}),
  description: () => ({}),
  examples: () => ({}),
  propertyNames: () => ({}),
  // Drops `additionalProperties` beside `properties`, because a structural schema cannot have both. The field
  // validation of the API server refuses unknown fields.
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
  // Converts a `const` to an enum of one value, because a structural schema has no `const`.
  const: (value) => ({ enum: [value] }),
  // In OpenAPI 3.0, `exclusiveMinimum` is a boolean that belongs to `minimum`.
  exclusiveMinimum: (value) =>
    typeof value === 'number' ? { minimum: value, exclusiveMinimum: true } : { exclusiveMinimum: value },
  // Keeps only the formats that Kubernetes supports, because Kubernetes ignores other formats. Patterns need no
  // conversion: the schemas and Kubernetes use RE2.
  format: (value) => (value === 'date-time' || value === 'uri' ? { format: value } : {}),
}
