/**
 * Place in the text of a policy document. The kind `item` is the beginning of an item in a block list; the item is a
 * key if the items are mappings, otherwise a value. `path` contains the keys of the enclosing mappings, with `*` for
 * each item of a list, such as `rules.*.conditions.*`. `text` is the part of the value or key before the cursor,
 * without its quote. `from` is the offset at which `text` begins, in UTF-16 code units.
 */
export type TextPlace = {
  readonly kind: 'key' | 'value' | 'item'
  readonly path: string
  readonly text: string
  readonly from: number
  /** Quote of YAML around the value; empty for a plain value. */
  readonly quote: '' | '"' | "'"
}

/**
 * Container that is open at the cursor. `indent` is the column of a block; a flow container (`{`, `[`) has the column
 * -1.
 */
type Frame = { readonly indent: number; readonly key: string; readonly flow?: '{' | '[' }

const BLOCK_SCALAR = /^[|>][-+0-9]*\s*$/
const KEY = /^([A-Za-z_][\w.-]*):(?:\s+|$)/

/**
 * State after the preceding lines: the open containers, and the column of the key of an open block scalar (`|`, `>`).
 * The column is -1 when no block scalar is open.
 */
type State = { readonly frames: readonly Frame[]; readonly scalarIndent: number }

/**
 * Returns the place at the end of `before`, which is the text up to the cursor; null in a comment and after a quoted
 * value. The text is incomplete while the user types, so this function reads lines and brackets instead of parsing
 * YAML.
 */
export function placeAt(before: string): TextPlace | null {
  const lines = before.split('\n')
  const last = lines.pop() ?? ''
  const state = lines.reduce<State>(afterLine, { frames: [], scalarIndent: -1 })
  const from = before.length - last.length
  if (!isInScalar(state, last)) return readLine(last, from, state.frames).place
  const text = last.trimStart()
  return { kind: 'value', path: pathOf(state.frames), text, from: before.length - text.length, quote: '' }
}

function afterLine(state: State, line: string): State {
  if (isInScalar(state, line) || /^\s*(#|$)/.test(line)) return state
  const { frames, opensScalar } = readLine(line, 0, state.frames)
  return { frames, scalarIndent: opensScalar === true ? (frames.at(-1)?.indent ?? 0) : -1 }
}

function isInScalar({ scalarIndent }: State, line: string): boolean {
  return scalarIndent >= 0 && (line.trim() === '' || indentOf(line) > scalarIndent)
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

type Read = {
  readonly frames: readonly Frame[]
  readonly place: TextPlace | null
  readonly opensScalar?: boolean
}

function readLine(line: string, offset: number, before: readonly Frame[]): Read {
  const inFlow = before.at(-1)?.flow !== undefined
  const indent = indentOf(line)
  let frames = inFlow ? before : before.filter((frame) => frame.indent < indent)
  let at = indent
  while (!inFlow && /^-(\s|$)/.test(line.slice(at))) {
    // The indent of a list may equal the indent of its key.
    const owner = before.findLast(
      (frame) => frame.indent === at && frame.key !== '*' && frame.flow === undefined,
    )
    if (owner !== undefined && !frames.includes(owner)) frames = [...frames, owner]
    frames = [...frames, { indent: at, key: '*' }]
    at += 1 + indentOf(line.slice(at + 1))
  }
  return readRest(line, offset, { frames, at, inFlow })
}

function readRest(
  line: string,
  offset: number,
  given: { readonly frames: readonly Frame[]; readonly at: number; readonly inFlow: boolean },
): Read {
  let { frames, at } = given
  const rest = line.slice(at)
  if (rest.startsWith('#')) return { frames, place: null }
  const key = given.inFlow ? null : KEY.exec(rest)
  if (key !== null) {
    frames = [...frames, { indent: at, key: key[1] ?? '' }]
    at += key[0].length
  } else if (!given.inFlow && !/^["'{[]/.test(rest) && frames.at(-1)?.key !== '*') {
    return { frames, place: { kind: 'key', path: pathOf(frames), text: rest, from: offset + at, quote: '' } }
  }
  const text = line.slice(at)
  if (BLOCK_SCALAR.test(text)) return { frames, place: null, opensScalar: true }
  return readValue(text, offset + at, frames)
}

/** State within a value. `start`: offset of the current part of the value, after its quote. */
type Reading = Pick<TextPlace, 'quote'> & {
  readonly frames: readonly Frame[]
  readonly start: number
  /** True after the closing quote of a value, and in a comment. */
  readonly isOver: boolean
}

/** Matches a quoted string, even if its closing quote is missing, or one character. */
const TOKEN = /"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?|\p{Any}/gu

/** Reads a value with its flow containers, from `text` to the end of the line. */
function readValue(text: string, offset: number, frames: readonly Frame[]): Read {
  const first: Reading = { frames, start: 0, quote: '', isOver: false }
  const end = [...text.matchAll(TOKEN)].reduce((reading, { 0: token, index }) => {
    return /^["']/.test(token)
      ? afterQuoted(reading, text, index, token)
      : afterCharacter(reading, text, index)
  }, first)
  if (end.isOver) return { frames: end.frames, place: null }
  const rest = text.slice(end.start)
  const blank = end.quote === '' ? indentOf(rest) : 0
  const typed = { text: rest.slice(blank), from: offset + end.start + blank, quote: end.quote }
  return { frames: end.frames, place: placeIn(end.frames, typed) }
}

/**
 * Returns the state after a quoted string. The quotes are part of the YAML syntax only if the string begins
 * the value.
 */
function afterQuoted(reading: Reading, text: string, at: number, token: string): Reading {
  if (reading.isOver || text.slice(reading.start, at).trim() !== '') return reading
  const quote = token.startsWith('"') ? '"' : "'"
  const isClosed = token.length > 1 && token.endsWith(quote)
  return { ...reading, quote, start: at + 1, isOver: isClosed }
}

function afterCharacter(reading: Reading, text: string, at: number): Reading {
  if (text[at] === '#' && (at === 0 || text[at - 1] === ' ')) return { ...reading, isOver: true }
  const part = text.slice(reading.start, at)
  const next = opened(reading.frames, text[at] ?? '', part) ?? inFlow(reading.frames, text.slice(at), part)
  return next === null ? reading : { frames: next, start: at + 1, quote: '', isOver: false }
}

/** Returns the open containers after a character that opens a flow container; null for any other character. */
function opened(frames: readonly Frame[], char: string, part: string): readonly Frame[] | null {
  if (part.trim() !== '') return null
  if (char === '{') return [...frames, { indent: -1, key: '', flow: '{' }]
  return char === '[' ? [...frames, { indent: -1, key: '*', flow: '[' }] : null
}

/**
 * Returns the open containers after a character that separates parts of a flow container or closes it; null for any
 * other character.
 */
function inFlow(frames: readonly Frame[], text: string, part: string): readonly Frame[] | null {
  const last = frames.at(-1)
  if (last?.flow === undefined) return null
  const outer = frames.slice(0, -1)
  if (/^[}\]]/.test(text)) return outer
  if (last.flow === '[') return text.startsWith(',') ? frames : null
  if (text.startsWith(',')) return [...outer, { ...last, key: '' }]
  return last.key === '' && /^:(\s|$)/.test(text) ? [...outer, { ...last, key: part.trim() }] : null
}

function placeIn(
  frames: readonly Frame[],
  { text, from, quote }: Pick<TextPlace, 'text' | 'from' | 'quote'>,
): TextPlace {
  const last = frames.at(-1)
  if (last?.key === '') return { kind: 'key', path: pathOf(frames), text, from, quote }
  const isItem = last?.key === '*' && last.flow === undefined
  return { kind: isItem ? 'item' : 'value', path: pathOf(frames), text, from, quote }
}

function pathOf(frames: readonly Frame[]): string {
  return frames
    .map(({ key }) => key)
    .filter((key) => key !== '')
    .join('.')
}
