import { type Refusal, refusal } from '../canonical.ts'

export const MAX_JSON_DEPTH = 64
/** Maximum number of objects, lists and keys in one body. Their number dominates the parsing time. */
export const MAX_JSON_NODES = 20_000
/** Number of nodes that a key counts as if it must be decoded, or folded because it may decide. */
export const SLOW_KEY_NODES = 8
/**
 * Maximum number of members and elements in one body. Higher than `MAX_JSON_NODES`, because plain elements are cheap.
 */
export const MAX_JSON_COMMAS = 200_000

/** Bounds of a scan. Readers limit the number of bytes before the scan. */
export const SCAN_BOUNDS = {
  /** Bytes between two yields. They take a fraction of a millisecond; the worst input takes some milliseconds. */
  sliceBytes: 64 * 1024,
  /** Maximum number of keys of all objects that are open at the same time. */
  openKeys: 20_000,
  /** Maximum number of characters in those keys. */
  openKeyChars: 1024 * 1024,
  /** Maximum size of the text of all kept values. */
  keptBytes: 1024 * 1024,
  /** Maximum number of root members whose positions are recorded. */
  members: 256,
} as const

export function tooManyValues(): Refusal {
  return refusal(
    'body_too_large',
    `the JSON body has more than ${MAX_JSON_NODES} objects, lists and keys or ${MAX_JSON_COMMAS} elements; send it in several requests`,
  )
}
