import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { KINDS } from '../../../scripts/crds/kinds.ts'

type Field = readonly [path: string, schema: z.ZodType]

/** The fields of a schema and of what is inside. */
function* fieldsOf(schema: unknown, path: string): Generator<Field> {
  if (schema instanceof z.ZodObject) {
    for (const [name, field] of Object.entries(schema.shape as Readonly<Record<string, z.ZodType>>)) {
      yield [`${path}.${name}`, field]
      yield* fieldsOf(field, `${path}.${name}`)
    }
  } else if (schema instanceof z.ZodArray) yield* fieldsOf(schema.element, `${path}[]`)
  else if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  )
    yield* fieldsOf(schema.unwrap(), path)
}

const metaOf = (schema: z.ZodType) =>
  (z.globalRegistry.get(schema) ?? {}) as { readonly description?: string; readonly examples?: unknown[] }

describe.each(KINDS)('the fields of a $kind', ({ kind, spec }) => {
  const fields = [...fieldsOf(spec, kind)]

  test('have a description that is a sentence, and an example', () => {
    expect(fields.length).toBeGreaterThan(5)
    const without = fields.filter(([path, schema]) => {
      const { description = '', examples = [] } = metaOf(schema)
      // The example of an object is that of its fields.
      const isComposed = [...fieldsOf(schema, path)].length > 0
      return !/^[A-Z`].{10,}\.$/s.test(description) || (examples.length === 0 && !isComposed)
    })
    expect(without.map(([path]) => path)).toEqual([])
  })

  test('have examples that are valid', () => {
    const invalid = fields.filter(([, schema]) =>
      (metaOf(schema).examples ?? []).some((example) => !schema.safeParse(example).success),
    )
    expect(invalid.map(([path]) => path)).toEqual([])
  })
})
