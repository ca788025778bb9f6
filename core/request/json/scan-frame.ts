import type { MemberPaths } from './member-paths.ts'
import type { KeySet } from './strict-json.ts'

/** State of an open object or list. */
export type Frame = {
  isObject: boolean
  /** Keys of the object so far; empty for a list. */
  keys: KeySet
  /** Paths of the members to keep below this object or list; null if there are none. */
  paths: MemberPaths | null
  /** Name of the current member. */
  key: string
  /**
   * Paths to keep in the next value, which is the value of the current member or an element of the list; null if there
   * are none.
   */
  next: MemberPaths | null
  keyCount: number
  keyChars: number
  /** Object or list with the kept members; null until the first of them is found. */
  kept: Record<string, unknown> | unknown[] | null
}

/** Prepares the frame at this depth, which is reused for all texts of a scanner. */
export function openFrame(
  frames: Frame[],
  depth: number,
  { isObject, paths, kept }: Pick<Frame, 'isObject' | 'paths' | 'kept'>,
): Frame {
  const frame = frames[depth]
  const next = isObject ? null : (paths?.elements ?? null)
  if (frame === undefined) {
    const keys = { list: [], set: null }
    const opened = { isObject, keys, paths, key: '', next, keyCount: 0, keyChars: 0, kept }
    frames.push(opened)
    return opened
  }
  frame.isObject = isObject
  // A new array is cheaper than setting the length of the old array to 0, which calls into the runtime of V8.
  frame.keys = { list: [], set: null }
  frame.paths = paths
  frame.key = ''
  frame.next = next
  frame.keyCount = 0
  frame.keyChars = 0
  frame.kept = kept
  return frame
}

/**
 * Adds a kept value. `key` must come from the kept paths and not from the text, which could contain a name such as
 * `__proto__`.
 */
export function put(into: Record<string, unknown> | unknown[], key: string, value: unknown): void {
  if (Array.isArray(into)) into.push(value)
  else into[key] = value
}
