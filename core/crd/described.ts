import type * as z from 'zod'

/**
 * Adds a description of the field's effect and unit, and an example, for `kubectl explain`, editors and
 * `docs/reference.md`. The generators derive default, bounds and allowed values from the schema.
 */
export function described<S extends z.ZodType>(schema: S, description: string, example?: z.input<S>): S {
  return schema.meta({ description, ...(example === undefined ? {} : { examples: [example] }) })
}
