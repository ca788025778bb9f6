import type { Refusal } from '../canonical.ts'
import {
  MAX_JSON_COMMAS,
  MAX_JSON_DEPTH,
  MAX_JSON_NODES,
  SLOW_KEY_NODES,
  tooManyValues,
} from './json-bounds.ts'
import { byteOrderMark, couldBe, notJson, nulInKey, tooDeep, trailingData, twice } from './json-problems.ts'

/**
 * Parses JSON that all parsers read alike, in linear time. `decidingKeys` are the keys that a classification depends
 * on, as paths from the root (`method`, `params.name`; elements of a root array count as roots). Refuses with
 * `ambiguous_request`: duplicate keys in any object, keys that fold (case, NFKC) to a deciding key at the same
 * position, NUL in a key, a byte order mark, trailing data. Refuses with `malformed_request`: depth over 64, and text
 * that is not JSON. Refuses with `body_too_large`: more values than `json-bounds.ts` allows. Checks the bounds before
 * parsing.
 */
export function parseStrictJson(text: string, decidingKeys: readonly string[]): ParsedJson | Refusal {
  if (text.charCodeAt(0) === 0xfeff) return byteOrderMark()
  const wrong = scanKeys(text, decidingKeys)
  if (wrong !== null) return wrong
  return tryParse(text) ?? notJson()
}

export type ParsedJson = { readonly kind: 'parsed'; readonly value: unknown }

function tryParse(text: string): ParsedJson | null {
  try {
    return { kind: 'parsed', value: JSON.parse(text) }
  } catch {
    return null
  }
}

/**
 * State of an open object or list: its keys so far, and its path from the root; the path is null if the object or list
 * can contain no deciding key.
 */
type Frame = {
  readonly isObject: boolean
  readonly path: string | null
  readonly keys: KeySet
  /** True if the next string of the object is a key. */
  expectsKey: boolean
  memberPath: string | null
}

type Scan = {
  readonly text: string
  readonly folded: ReadonlyMap<string, readonly FoldedKey[]>
  readonly stack: Frame[]
  /** Number of objects, lists and keys so far. */
  nodes: number
  commas: number
}
type FoldedKey = { readonly exact: string; readonly folded: string }

/** Checks the structure of the text and all keys. Skips the content of other strings, numbers and literals. */
function scanKeys(text: string, decidingKeys: readonly string[]): Refusal | null {
  const scan: Scan = { text, folded: foldedKeys(decidingKeys), stack: [], nodes: 0, commas: 0 }
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    const end = code === QUOTE ? stringEnd(text, at) : at + 1
    const wrong = code === QUOTE ? readString(scan, at, end) : step(scan, code)
    if (wrong !== null) return wrong
    if (isClose(code) && scan.stack.length === 0) return trailing(text, end)
    at = end
  }
  return null
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

function isClose(code: number): boolean {
  return code === 0x7d || code === 0x5d
}

function step(scan: Scan, code: number): Refusal | null {
  if (code === 0x7b || code === 0x5b) return open(scan, code === 0x7b)
  if (isClose(code)) scan.stack.pop()
  return code === 0x2c ? takeComma(scan) : null
}

function takeComma(scan: Scan): Refusal | null {
  const frame = scan.stack.at(-1)
  if (frame !== undefined) frame.expectsKey = frame.isObject
  scan.commas += 1
  return scan.commas > MAX_JSON_COMMAS ? tooManyValues() : null
}

function open(scan: Scan, isObject: boolean): Refusal | null {
  const { stack } = scan
  scan.nodes += 1
  if (scan.nodes > MAX_JSON_NODES) return tooManyValues()
  if (stack.length >= MAX_JSON_DEPTH) {
    return tooDeep()
  }
  const parent = stack.at(-1)
  // Elements of a root list count as roots, because a JSON-RPC batch is a list. Other lists contain no deciding keys.
  const path =
    parent === undefined || (!parent.isObject && parent.path === '')
      ? ''
      : parent.isObject
        ? parent.memberPath
        : null
  stack.push({ isObject, path, keys: { list: [], set: null }, expectsKey: isObject, memberPath: null })
  return null
}

function readString(scan: Scan, start: number, end: number): Refusal | null {
  const frame = scan.stack.at(-1)
  if (frame === undefined || !frame.expectsKey) return null
  frame.expectsKey = false
  const inner = scan.text.slice(start + 1, end - 1)
  scan.nodes += weightOf(inner, frame.path !== null)
  if (scan.nodes > MAX_JSON_NODES) return tooManyValues()
  const key = decodeKey(inner)
  if (key === null) return null
  if (key.includes('\0')) return nulInKey()
  if (!addKey(frame.keys, key)) return twice(key)
  frame.memberPath = frame.path === null ? null : frame.path === '' ? key : `${frame.path}.${key}`
  return frame.path === null ? null : judgeFold(scan.folded.get(frame.path), key)
}

/**
 * Returns the number of nodes that a key counts for. Decoding or folding a key costs several times as much as a plain
 * key.
 */
function weightOf(inner: string, mayDecide: boolean): number {
  const isSlow = inner.includes('\\') || (mayDecide && !PLAIN.test(inner))
  return isSlow ? SLOW_KEY_NODES : 1
}

function judgeFold(deciding: readonly FoldedKey[] | undefined, key: string): Refusal | null {
  if (deciding === undefined || key.length > MAX_FOLDED) return null
  const folded = fold(key)
  for (const one of deciding) {
    if (one.folded === folded && one.exact !== key) {
      return couldBe(key, one.exact)
    }
  }
  return null
}

/**
 * Maximum length in characters of a key that is folded. Longer keys cannot fold to a deciding key, and folding may
 * multiply the length of a key by 18.
 */
export const MAX_FOLDED = 512

/**
 * Folds a key by NFKC and case. Converts to upper, then to lower case, because some letters (long s, dotless i) map to
 * ASCII in one direction only.
 */
export function fold(key: string): string {
  return PLAIN.test(key) ? key : key.normalize('NFKC').toUpperCase().toLowerCase()
}

const PLAIN = /^[a-z0-9_]*$/

/** Cache of folded keys by the list of deciding keys, because all requests share a few lists. */
const groups = new WeakMap<readonly string[], Map<string, FoldedKey[]>>()

function foldedKeys(decidingKeys: readonly string[]): Map<string, FoldedKey[]> {
  const known = groups.get(decidingKeys)
  if (known !== undefined) return known
  const grouped = groupByParent(decidingKeys)
  groups.set(decidingKeys, grouped)
  return grouped
}

function groupByParent(decidingKeys: readonly string[]): Map<string, FoldedKey[]> {
  const groups = new Map<string, FoldedKey[]>()
  for (const path of decidingKeys) {
    const dot = path.lastIndexOf('.')
    const exact = path.slice(dot + 1)
    const parent = dot === -1 ? '' : path.slice(0, dot)
    const group = groups.get(parent) ?? []
    group.push({ exact, folded: fold(exact) })
    groups.set(parent, group)
  }
  return groups
}

/** Decodes the text between the quotes of a key; only a key with escapes needs decoding. Null for an invalid string. */
function decodeKey(inner: string): string | null {
  if (!inner.includes('\\')) return inner
  const parsed = tryParse(`"${inner}"`)
  return parsed !== null && typeof parsed.value === 'string' ? parsed.value : null
}

const SHORT = 24
const SPACES = /\s*/y

/**
 * Returns the index after the closing quote; the length of the text if there is none. Most keys are short, so a short
 * loop precedes the search.
 */
export function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at <= start + SHORT; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code === BACKSLASH) break
  }
  let at = text.indexOf('"', start + 1)
  for (let tries = 0; at !== -1 && isEscaped(text, at); tries++) {
    if (tries === MAX_SEARCHES) return walkString(text, at + 1)
    at = text.indexOf('"', at + 1)
  }
  return at === -1 ? text.length : at + 1
}

/**
 * Maximum number of searches for the closing quote. If more escaped quotes follow, a loop over the characters is
 * faster.
 */
const MAX_SEARCHES = 16

/** Returns the index after the closing quote by a loop over the characters, from a position inside of the string. */
function walkString(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at += 1
    else if (code === QUOTE) return at + 1
  }
  return text.length
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0
  while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes += 1
  return slashes % 2 === 1
}

function trailing(text: string, at: number): Refusal | null {
  SPACES.lastIndex = at
  SPACES.test(text)
  if (SPACES.lastIndex === text.length) return null
  return trailingData()
}

/**
 * Set of keys: an array while it is short, then a `Set`. An array is cheaper for small objects. For large objects, a
 * `Set` keeps the time linear in the number of keys.
 */
export type KeySet = { readonly list: string[]; set: Set<string> | null }

export function addKey(keys: KeySet, key: string): boolean {
  if (keys.set !== null) {
    const before = keys.set.size
    return keys.set.add(key).size > before
  }
  if (keys.list.includes(key)) return false
  keys.list.push(key)
  if (keys.list.length > 16) keys.set = new Set(keys.list)
  return true
}
