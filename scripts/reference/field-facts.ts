import { stringify } from 'yaml'

/** A JSON schema of a field, in the dialect of OpenAPI or of JSON Schema. */
export type FieldSchema = { readonly [key: string]: unknown }

/** Texts about a field that follow from its schema. A text is empty when the schema does not define the fact. */
export type FieldFacts = {
  readonly type: string
  readonly fallback: string
  readonly bounds: string
  readonly example: string
}

export function factsOf(schema: FieldSchema): FieldFacts {
  const { default: fallback, examples } = schema
  const isComposed = schema['properties'] !== undefined
  return {
    type: typeOf(schema),
    fallback: fallback === undefined || isComposed ? '' : flow(fallback),
    bounds: boundsOf(schema),
    example: Array.isArray(examples) && examples.length > 0 ? flow(examples[0]) : '',
  }
}

/** Returns the description of a field with the facts that `kubectl explain` does not show by itself. */
export function explainText(schema: FieldSchema): string {
  const { fallback, bounds, example } = factsOf(schema)
  const facts = [
    fallback === '' ? '' : `Default: ${fallback}.`,
    bounds === '' ? '' : `Bounds: ${bounds}.`,
    example === '' ? '' : `Example: ${example}`,
  ].filter((fact) => fact !== '')
  return [String(schema['description']), ...(facts.length === 0 ? [] : [facts.join(' ')])].join('\n')
}

function typeOf(schema: FieldSchema): string {
  const { enum: values, type, items } = schema
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(', ')
  if (type === 'array') return `list of ${typeOf((items ?? {}) as FieldSchema)}`
  if (type === 'object') return schema['properties'] === undefined ? 'map' : 'object'
  if (Array.isArray(schema['anyOf'])) return 'quantity'
  return type === undefined ? 'any value' : String(type)
}

/** Returns the limits of a number, the length of a text, or the size of a list or map. */
function boundsOf(schema: FieldSchema): string {
  const { type, enum: values } = schema
  if (values !== undefined) return ''
  if (type === 'integer') return range(schema['minimum'], schema['maximum'], '')
  if (type === 'string') return range(undefined, schema['maxLength'], ' characters')
  if (type === 'array') return range(schema['minItems'], schema['maxItems'], ' entries')
  return range(undefined, schema['maxProperties'], ' members')
}

function range(least: unknown, most: unknown, unit: string): string {
  if (typeof most !== 'number') return ''
  return typeof least === 'number' ? `${least} to ${most}${unit}` : `at most ${most}${unit}`
}

/** Returns a value as YAML on one line. */
function flow(value: unknown): string {
  if (typeof value === 'string' && value.includes('\n')) return JSON.stringify(value)
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0, blockQuote: false }).trim()
}
