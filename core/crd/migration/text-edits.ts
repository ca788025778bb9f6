import { isMap, isScalar, type Pair, type YAMLMap } from 'yaml'

/**
 * Replacement of a part of a text. The edits of one text must not overlap. All text outside of the edits keeps its
 * bytes.
 */
export type TextEdit = { readonly start: number; readonly end: number; readonly text: string }

/** Member of a YAML mapping, as parsed from `source`. */
export type Member = { readonly map: YAMLMap; readonly pair: Pair; readonly source: string }

export function applyEdits(source: string, edits: readonly TextEdit[]): string {
  const lastFirst = edits.toSorted((a, b) => b.start - a.start)
  return lastFirst.reduce(
    (text, { start, end, text: by }) => text.slice(0, start) + by + text.slice(end),
    source,
  )
}

export function renameKey({ pair }: Member, to: string): TextEdit {
  const [start, end] = rangeOf(pair.key)
  return { start, end, text: to }
}

export function replaceMember(member: Member, text: string): TextEdit {
  return { start: rangeOf(member.pair.key)[0], end: endOf(member), text }
}

/** Removes the member. In a block mapping, also removes its lines and a comment after it on the same line. */
export function removeMember(member: Member): TextEdit {
  const { map, pair, source } = member
  const [start] = rangeOf(pair.key)
  const end = endOf(member)
  const index = map.items.indexOf(pair)
  const [before, after] = [map.items[index - 1], map.items[index + 1]]
  const isOnly = before === undefined && after === undefined
  if (isOnly) return { start, end, text: map.flow === true ? '' : '{}' }
  if (map.flow === true)
    return after === undefined
      ? { start: endOf({ map, pair: before as Pair, source }), end, text: '' }
      : { start, end: rangeOf(after.key)[0], text: '' }
  const lineStart = source.lastIndexOf('\n', start - 1) + 1
  const isFirstOnLine = source.slice(lineStart, start).trim() === ''
  if (!isFirstOnLine && after !== undefined) return { start, end: rangeOf(after.key)[0], text: '' }
  const lineEnd = source.indexOf('\n', end)
  return { start: lineStart, end: lineEnd < 0 ? source.length : lineEnd + 1, text: '' }
}

export function replaceNode(node: unknown, source: string, text: string): TextEdit {
  const [start, end] = rangeOf(node)
  return { start, end: withoutBlanks(source, start, end), text }
}

/** Returns the named member of a mapping; undefined if it is missing or the node is not a mapping. */
export function memberOf(map: unknown, name: string, source: string): Member | undefined {
  if (!isMap(map)) return undefined
  const pair = map.items.find(({ key }) => isScalar(key) && key.value === name)
  return pair === undefined ? undefined : { map, pair, source }
}

/** Returns the offset of the first character of a node, and the offset after its value. */
export function rangeOf(node: unknown): readonly [start: number, end: number] {
  const { range } = node as { readonly range?: readonly [number, number, number] | null }
  if (!range) throw new TypeError('The YAML node has no position in the source text.')
  return [range[0], range[1]]
}

function endOf({ pair, source }: Member): number {
  const [start, keyEnd] = rangeOf(pair.key)
  if (pair.value === null) return source.indexOf(':', keyEnd) + 1
  const [, end] = rangeOf(pair.value)
  return withoutBlanks(source, start, end)
}

/**
 * Returns the end of the range without trailing white space, because the range of a YAML collection includes the line
 * break after its last item.
 */
function withoutBlanks(source: string, start: number, end: number): number {
  return start + source.slice(start, end).trimEnd().length
}
