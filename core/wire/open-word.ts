import * as z from 'zod'

const MAX_CHARS = 64

/**
 * Returns the schema of a word from a closed list, in a report that a newer version may send. It keeps words that are
 * not in the list. Their type is branded: code of this version handles them but cannot assign them by mistake.
 */
export function openWord<const Words extends readonly string[]>(words: Words) {
  return z.union([z.enum(words), z.string().min(1).max(MAX_CHARS).brand<'NewerWord'>()])
}
