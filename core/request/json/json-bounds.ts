import { type Refusal, refusal } from '../canonical.ts'

export const MAX_JSON_DEPTH = 64
/** Maximum objects, lists and keys of one body, which dominate the parsing time. */
export const MAX_JSON_NODES = 20_000
/** Weight of a key that must be decoded, or folded because it may decide. */
export const SLOW_KEY_NODES = 8
/** Maximum members and elements of one body; plain elements are cheap. */
export const MAX_JSON_COMMAS = 200_000

/** Bounds of a scan. The reader of a body bounds its bytes. */
export const SCAN_BOUNDS = {
  /** Bytes between two yields: a fraction of a millisecond, some milliseconds for the worst input. */
  sliceBytes: 64 * 1024,
  /** Keys of all objects that are open at the same time. */
  openKeys: 20_000,
  /** Characters of those keys. */
  openKeyChars: 1024 * 1024,
  /** Text of all kept values. */
  keptBytes: 1024 * 1024,
  /** Maximum number of root members with recorded positions. */
  members: 256,
} as const

export function tooManyValues(): Refusal {
  return refusal(
    'body_too_large',
    `the JSON body has more than ${MAX_JSON_NODES} objects, lists and keys or ${MAX_JSON_COMMAS} elements; send it in several requests`,
  )
}
