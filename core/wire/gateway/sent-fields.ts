import * as z from 'zod'

type Fields = Readonly<Record<string, z.ZodType>>

/** Schemas of fields in an entry of a section: optional, with the types of the custom resource. */
export type SentFields<F extends Fields> = {
  readonly [K in keyof F]: z.ZodOptional<z.ZodType<Exclude<z.output<F[K]>, undefined>>>
}

/**
 * Returns the schemas of fields in an entry of a section, from those of the custom resource: absent means the default.
 * Bounds and forms of texts and lists are not repeated, because a gateway must not refuse a stored value that a
 * later version of the custom resource would.
 */
export function sentFields<F extends Fields>(fields: F): SentFields<F> {
  const sent = Object.entries(fields).map(([name, schema]) => [
    name,
    withoutChecks(unwrapped(schema)).optional(),
  ])
  return Object.fromEntries(sent)
}

/** Inner schemas of a zod definition: of a default or an optional field (`innerType`), of a list (`element`). */
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
