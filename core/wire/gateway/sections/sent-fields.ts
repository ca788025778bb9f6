import * as z from 'zod'

type Fields = Readonly<Record<string, z.ZodType>>

/**
 * Schemas of the fields in an entry of a section. All fields are optional and have the types of the custom
 * resource.
 */
export type SentFields<F extends Fields> = {
  readonly [K in keyof F]: z.ZodOptional<z.ZodType<Exclude<z.output<F[K]>, undefined>>>
}

/**
 * Derives the schemas of the fields in an entry of a section from the schemas of the custom resource. An absent
 * field has its default value. The derived schemas do not limit the length or the format of texts and lists: a
 * gateway must accept a stored value even if a later version of the custom resource refuses it.
 */
export function sentFields<F extends Fields>(fields: F): SentFields<F> {
  const sent = Object.entries(fields).map(([name, schema]) => [
    name,
    withoutChecks(unwrapped(schema)).optional(),
  ])
  return Object.fromEntries(sent)
}

/**
 * Inner schemas of a zod definition: `innerType` of an optional field or a field with a default, `element` of a
 * list.
 */
type Definition = { readonly type: string; readonly innerType?: z.ZodType; readonly element?: z.ZodType }

function definitionOf(schema: z.ZodType): Definition {
  return schema._zod.def as unknown as Definition
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const { type, innerType } = definitionOf(schema)
  const isWrapped = type === 'optional' || type === 'default' || type === 'prefault'
  return isWrapped && innerType !== undefined ? unwrapped(innerType) : schema
}

function withoutChecks(schema: z.ZodType): z.ZodType {
  const { type, element } = definitionOf(schema)
  if (type === 'array' && element !== undefined) return z.array(withoutChecks(element))
  return type === 'string' ? z.string() : schema
}
