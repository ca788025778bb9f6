import * as z from 'zod'

const MAX_CHARS = 64

/**
 * Returns the schema of a word from a closed list, in a report that a newer version may send. The schema accepts words
 * that are not in the list. Such words have a branded type, so that code of this version cannot create one by mistake.
 */
export function openEnum<const Words extends readonly string[]>(words: Words) {
  return z.union([z.enum(words), z.string().min(1).max(MAX_CHARS).brand<'NewerValue'>()])
}
