import { type Refusal, refusal } from '../canonical.ts'

export const MAX_JSON_DEPTH = 64
/** Objects, lists and keys of one body: what a parser takes long for. */
export const MAX_JSON_NODES = 20_000
/** For how many a key counts that has to be decoded, or folded where it may decide. */
export const SLOW_KEY_NODES = 8
/** Members and elements of one body; plain elements are cheap. */
export const MAX_JSON_COMMAS = 200_000

/** Bounds of a scan. The bytes of a body are bounded where it is read. */
export const SCAN_BOUNDS = {
  /** Bytes between two yields: a fraction of a millisecond, and some milliseconds of the worst input. */
  sliceBytes: 64 * 1024,
  /** Keys of the objects that are open at one place. */
  openKeys: 20_000,
  /** Characters of those keys. */
  openKeyChars: 1024 * 1024,
  /** Text of all values that are kept. */
  keptBytes: 1024 * 1024,
  /** Members of the root of which the place is known. */
  members: 256,
} as const

export function tooManyValues(): Refusal {
  return refusal(
    'body_too_large',
    `the JSON body has more than ${MAX_JSON_NODES} objects, lists and keys or ${MAX_JSON_COMMAS} elements; send it in several requests`,
  )
}
