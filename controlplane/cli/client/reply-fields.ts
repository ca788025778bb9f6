import type * as z from 'zod'

/**
 * Returns a function that returns the given schema unchanged. The schema describes the fields of a reply that a command
 * reads. A schema that rejects a possible value of `Reply`, the type of the reply in `core/wire`, does not compile. The
 * schema must ignore unknown fields, because the server may have another version.
 */
export function replyFields<Reply>(): <S extends z.ZodType>(schema: Accepting<Reply, S>) => S {
  return (schema) => schema
}

type Accepting<Reply, S extends z.ZodType> = S & (Reply extends z.input<S> ? unknown : never)
