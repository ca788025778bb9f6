import { type Refusal, refusal } from './canonical.ts'

export const MAX_JSON_DEPTH = 64
/** Objects, lists and keys of one body: what a parser takes long for. */
export const MAX_JSON_NODES = 20_000
/** For how many a key counts that has to be decoded, or folded where it may decide. */
export const SLOW_KEY_NODES = 8
/** Members and elements of one body; plain elements are cheap. */
export const MAX_JSON_COMMAS = 200_000

export function tooManyValues(): Refusal {
  return refusal(
    'body_too_large',
    `the JSON body has more than ${MAX_JSON_NODES} objects, lists and keys or ${MAX_JSON_COMMAS} elements; send it in several requests`,
  )
}
