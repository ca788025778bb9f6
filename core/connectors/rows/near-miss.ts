import type { Effect, RiskLevel } from '../../action/action.ts'
import { fold } from '../../action/pattern.ts'
import { type Refusal, refusal } from '../../request/canonical.ts'
import { decodings } from '../../request/percent.ts'
import { effectOfMethod } from '../named-action.ts'
import type { CompiledRow, Leaf, RowTrie } from './row-trie.ts'
import { descend, rowsOf, writesOf } from './rows.ts'

/**
 * True for a path without a row that a careless server would take for one: it ignores case, empty segments, white space
 * around them, what follows a `;` or an encoded `?`, or decodes once more. A name of its own (`unmapped`) would let a listed deed pass
 * under another name.
 */
export function isNearMiss(trie: RowTrie, method: string, segments: readonly string[]): boolean {
  const exact = descend(trie.root, segments, 0, 'literals')
  return lenientReadings(segments).some((reading) => {
    const meant = descend(trie.root, reading, 0, 'folded')
    if (meant === null) return false
    return exact === null || (exact !== meant && isReached(meant, method))
  })
}

/** The rows of a tree below one of the prefixes. */
export type Below = {
  readonly trie: RowTrie
  readonly prefixes: readonly (readonly string[])[]
  /** How the API reads the path behind the prefix; as it stands by default. */
  readonly read?: (segments: readonly string[]) => readonly string[]
}

function same<T>(value: T): T {
  return value
}

/** True for a path that a careless server would take for one of a row below one of the prefixes. */
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

/** By this method a row of the path is reached, or one that changes something may be. */
function isReached(leaf: Leaf, method: string): boolean {
  return (
    rowsOf(leaf, method) !== undefined || (effectOfMethod(method) !== 'read' && writesOf(leaf).length > 0)
  )
}

/** What a careless server could read as something else: `CREATE`, `%63reate`, ` create`, `create;x`, `create?x`. */
const LENIENT = /[A-Z%;?#\s]/

/** True where a careless server would take a parameter's value for a word of the path, and so do something stricter. */
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
 * Decoded once more, twice more, … until nothing changes, because servers stop at different depths; each time with and
 * without taking a decoded slash for one, and with and without the segments that are nothing but white space.
 */
export function lenientReadings(segments: readonly string[]): readonly (readonly string[])[] {
  const depths = segments.some((segment) => segment.includes('%')) ? decodings(segments) : [segments]
  return depths.flatMap((decoded) =>
    SLASHES.filter((slash) => slash === SLASHES[0] || decoded.some((segment) => slash.test(segment))).flatMap(
      (slash) => readAs(decoded.flatMap((segment) => segment.split(slash))),
    ),
  )
}

/** What servers take for a slash: nothing that is encoded, what is decoded, and what would be if it were decoded. */
const SLASHES: readonly RegExp[] = [/(?!)/, /[/\\]/, /[/\\]|%2f|%5c/i]

/**
 * With what follows a `;` and without: one server cuts it off, the next one only trims what is there. A `?` or `#` that
 * was encoded ends the path where a server decodes before it looks for the query.
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
    'the path differs from a known one only in case, white space, slashes or encoding; send that one',
  )
}
