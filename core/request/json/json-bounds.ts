import { type Refusal, refusal } from '../canonical.ts'

export const MAX_JSON_DEPTH = 64
/** Maximum number of objects, lists and keys in one body. This number dominates the parsing time. */
export const MAX_JSON_NODES = 20_000
/**
 * A key that must be decoded or folded (see `fold`) counts as this number of nodes, because both are slower than the
 * rest of the parsing.
 */
export const SLOW_KEY_NODES = 8
/**
 * Maximum number of members and elements in one body. The bound is higher than `MAX_JSON_NODES`, because plain
 * elements are cheap to parse.
 */
export const MAX_JSON_COMMAS = 200_000

/** Bounds of a scan. Callers limit the number of bytes before the scan. */
export const SCAN_BOUNDS = {
  /**
   * Number of bytes between two yields. A slice takes a fraction of a millisecond; the worst input takes some
   * milliseconds.
   */
  sliceBytes: 64 * 1024,
  /** Maximum number of keys of all objects that are open at the same time. */
  openKeys: 20_000,
  /** Maximum number of characters in the keys of all open objects. */
  openKeyChars: 1024 * 1024,
  /** Maximum size in bytes of the texts of all kept values. */
  keptBytes: 1024 * 1024,
  /** Maximum number of root members whose positions are kept. */
  members: 256,
} as const

export function tooManyValues(): Refusal {
  return refusal(
    'body_too_large',
    `the JSON body has more than ${MAX_JSON_NODES} objects, lists and keys or ${MAX_JSON_COMMAS} elements; send it in several requests`,
  )
}
