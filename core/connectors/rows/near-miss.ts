import type { Effect, RiskLevel } from '../../action/action.ts'
import { fold } from '../../action/pattern.ts'
import { type Refusal, refusal } from '../../request/canonical.ts'
import { decodings } from '../../request/percent.ts'
import { effectOfMethod } from '../named-action.ts'
import type { CompiledRow, Leaf, RowTrie } from './row-trie.ts'
import { descend, rowsOf, writesOf } from './rows.ts'

/**
 * True for a path that has no row for the method, but that a lenient server would resolve to a row. Such servers ignore
 * case, empty segments, surrounding white space, or text after a `;` or an encoded `?`, or decode the path repeatedly.
 * Classified as `unmapped`, such a request could execute an operation that a policy denies.
 */
export function isNearMiss(trie: RowTrie, method: string, segments: readonly string[]): boolean {
  const exact = descend(trie.root, segments, 0, 'literals')
  return lenientReadings(segments).some((reading) => {
    const meant = descend(trie.root, reading, 0, 'folded')
    if (meant === null) return false
    return exact === null || (exact !== meant && isReached(meant, method))
  })
}

/** Path prefixes of a self-hosted instance, and the rows that apply below each prefix. */
export type Below = {
  readonly trie: RowTrie
  readonly prefixes: readonly (readonly string[])[]
  /** Converts the path after the prefix to the segments that the trie of rows contains; default: unchanged. */
  readonly read?: (segments: readonly string[]) => readonly string[]
}

function same<T>(value: T): T {
  return value
}

/** True for a path outside of the prefixes that a lenient server would resolve to a row below one of them. */
export function isNearPrefix({ trie, prefixes, read = same }: Below, segments: readonly string[]): boolean {
  const below = prefixes.filter((prefix) => prefix.length > 0)
  if (below.length === 0 || below.some((prefix) => startsWith(segments, prefix))) return false
  return lenientReadings(segments).some((reading) =>
    below.some(
      (prefix) =>
        startsWith(reading, prefix.map(fold)) &&
        descend(trie.root, read(reading.slice(prefix.length)), 0, 'folded') !== null,
    ),
  )
}

function startsWith(segments: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((segment, at) => segments[at] === segment)
}

/**
 * Reports whether the method reaches a row of the path. For a method that is not a read, any write row counts, because
 * a server may execute the row.
 */
function isReached(leaf: Leaf, method: string): boolean {
  return (
    rowsOf(leaf, method) !== undefined || (effectOfMethod(method) !== 'read' && writesOf(leaf).length > 0)
  )
}

/** Matches segments that a lenient server may normalize: `CREATE`, `%63reate`, ` create`, `create;x`, `create?x`. */
const LENIENT = /[A-Z%;?#\s]/

/**
 * Reports whether a lenient server would read the value of a path parameter as the literal of another row with a more
 * severe effect or risk.
 */
export function isStricterElsewhere(
  trie: RowTrie,
  method: string,
  segments: readonly string[],
  named: readonly CompiledRow[],
): boolean {
  if (!segments.some((segment) => LENIENT.test(segment))) return false
  return lenientReadings(segments).some((reading) => {
    const meant = descend(trie.root, reading, 0, 'folded')
    const rows = meant === null ? undefined : rowsOf(meant, method)
    return rows !== undefined && rows !== named && isStricter(rows, named)
  })
}

/**
 * Returns all forms in which lenient servers may read a path. The path is decoded repeatedly until nothing changes,
 * because servers stop at different depths. Each result is returned with and without decoded slashes as separators, and
 * with and without blank segments.
 */
export function lenientReadings(segments: readonly string[]): readonly (readonly string[])[] {
  const depths = segments.some((segment) => segment.includes('%')) ? decodings(segments) : [segments]
  return depths.flatMap((decoded) =>
    SLASHES.filter((slash) => slash === SLASHES[0] || decoded.some((segment) => slash.test(segment))).flatMap(
      (slash) => readAs(decoded.flatMap((segment) => segment.split(slash))),
    ),
  )
}

/**
 * Separators by which servers split a decoded segment: none, a decoded slash or backslash, or also a slash or backslash
 * that further decoding would produce.
 */
const SLASHES: readonly RegExp[] = [/(?!)/, /[/\\]/, /[/\\]|%2f|%5c/i]

/**
 * Returns the forms of a path with and without the text after a `;`, because some servers discard this text. For a path
 * with an encoded `?` or `#`, also returns the forms up to this character, because a server that decodes first ends the
 * path there.
 */
function readAs(segments: readonly string[]): readonly (readonly string[])[] {
  const end = segments.findIndex((segment) => /[?#]/.test(segment))
  if (end === -1) return readSemicolons(segments)
  const short = [...segments.slice(0, end), segments[end]?.split(/[?#]/)[0] ?? '']
  return [...readSemicolons(segments), ...readSemicolons(short)]
}

function readSemicolons(segments: readonly string[]): readonly (readonly string[])[] {
  const cut = segments.map((segment) => segment.split(';')[0] ?? '')
  const spellings = segments.some((segment) => segment.includes(';')) ? [cut, segments] : [cut]
  return spellings.flatMap(trimmings)
}

function trimmings(segments: readonly string[]): readonly (readonly string[])[] {
  const folded = segments
    .map((segment) => (segment.split('\0')[0] ?? '').toLowerCase())
    .filter((segment) => segment !== '')
  const trimmed = folded.map((segment) => segment.trim())
  return [
    trimmed.filter((segment) => segment !== ''),
    trimmed.map((segment, at) => segment || (folded[at] ?? '')),
  ]
}

const EFFECTS: readonly Effect[] = ['read', 'compute', 'write']
const RISKS: readonly RiskLevel[] = ['low', 'medium', 'high']

function isStricter(rows: readonly CompiledRow[], than: readonly CompiledRow[]): boolean {
  return (
    rankOf(rows, EFFECTS, 'effect') > rankOf(than, EFFECTS, 'effect') ||
    rankOf(rows, RISKS, 'risk') > rankOf(than, RISKS, 'risk')
  )
}

function rankOf<K extends 'effect' | 'risk'>(
  rows: readonly CompiledRow[],
  order: readonly string[],
  key: K,
): number {
  return Math.max(...rows.map(({ row }) => order.indexOf(row[key])))
}

export function nearMiss(): Refusal {
  return refusal(
    'ambiguous_request',
    'the path differs from a path of the API only in case, white space, slashes or encoding; send the path as the API documents it',
  )
}
