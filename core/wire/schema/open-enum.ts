import * as z from 'zod'

const MAX_CHARS = 64

/**
 * Returns a schema that accepts the given words, and any other word, because a newer version of the sender may send
 * further words. Other words have a branded type, so that code of this version cannot create one by mistake.
 */
export function openEnum<const Words extends readonly string[]>(words: Words) {
  return z.union([z.enum(words), z.string().min(1).max(MAX_CHARS).brand<'NewerValue'>()])
}
