import type * as z from 'zod'

/**
 * Adds what readers see of a field in `kubectl explain`, in editors and in `docs/reference.md`: a description of its effect and
 * unit, and an example. Default, bounds and values follow from the schema.
 */
export function described<S extends z.ZodType>(schema: S, description: string, example?: z.input<S>): S {
  return schema.meta({ description, ...(example === undefined ? {} : { examples: [example] }) })
}
