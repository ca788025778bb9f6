import type * as z from 'zod'

/**
 * Returns the schema of those fields of a reply that a command reads. `Reply` is the type of the reply in
 * `core/wire`: a schema that does not accept every such reply does not compile. The schema is tolerant, because the
 * server may have another version.
 */
export function replyFields<Reply>(): <S extends z.ZodType>(schema: Accepting<Reply, S>) => S {
  return (schema) => schema
}

type Accepting<Reply, S extends z.ZodType> = S & (Reply extends z.input<S> ? unknown : never)
