import * as z from 'zod'
import type { CrdSource } from '../crds/crd.ts'
import { type FieldSchema, factsOf } from './field-facts.ts'

type Row = { readonly path: string; readonly schema: FieldSchema; readonly same: string | null }

/** Returns the documentation section about a kind, with every field of its spec. */
export function fieldsSection({ kind, description, spec }: CrdSource): string {
  const schema = z.toJSONSchema(spec, { io: 'input', unrepresentable: 'any' }) as FieldSchema
  const rows = [...rowsOf(schema, '', new Map())].map(line)
  return [
    `## ${kind}`,
    description,
    [
      '| Field | Type | Default | Bounds | Description | Example |',
      '|---|---|---|---|---|---|',
      ...rows,
    ].join('\n'),
  ].join('\n\n')
}

/**
 * Yields a row for every field of an object and of its nested objects. `known` maps the properties of an
 * object to the path at which the section lists them first. For a later field with the same properties, the
 * row refers to that path instead of listing the properties again.
 */
function* rowsOf(schema: FieldSchema, path: string, known: Map<string, string>): Generator<Row> {
  const required = (schema['required'] ?? []) as readonly string[]
  for (const [name, field] of Object.entries(propertiesOf(schema))) {
    const at = `${path}${name}`
    const { inner, step } = insideOf(field)
    const properties = JSON.stringify(propertiesOf(inner))
    const same = known.get(properties) ?? null
    yield { path: `\`${at}\`${required.includes(name) ? ' (required)' : ''}`, schema: field, same }
    if (same !== null || properties === '{}') continue
    known.set(properties, at)
    yield* rowsOf(inner, `${at}${step}`, known)
  }
}

/** Returns the schema of a nested object, which is the field itself or an item of its list. */
function insideOf(field: FieldSchema): { readonly inner: FieldSchema; readonly step: string } {
  if (field['type'] !== 'array') return { inner: field, step: '.' }
  return { inner: (field['items'] ?? {}) as FieldSchema, step: '[].' }
}

function propertiesOf(schema: FieldSchema): Readonly<Record<string, FieldSchema>> {
  return (schema['properties'] ?? {}) as Readonly<Record<string, FieldSchema>>
}

function line({ path, schema, same }: Row): string {
  const { type, fallback, bounds, example } = factsOf(schema)
  const description = String(schema['description'] ?? '')
  const text = same === null ? description : `${description} Fields as of \`${same}\`.`
  const cells = [path, type, code(fallback), bounds, text, code(example)]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``
}
