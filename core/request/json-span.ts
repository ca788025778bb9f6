/** Range of a value in a text: from `start` to before `end`. */
export type Span = { readonly start: number; readonly end: number }

/**
 * Returns the range of the value at a path of object members; null if there is none. `text` must be JSON that
 * `parseStrictJson` accepted.
 */
export function spanOf(text: string, path: readonly string[]): Span | null {
  let span: Span | null = { start: skipBlanks(text, 0), end: text.length }
  for (const member of path) span = span === null ? null : memberSpan(text, span.start, member)
  return span
}

function memberSpan(text: string, open: number, member: string): Span | null {
  for (let at = skipBlanks(text, open + 1); text[at] === '"'; ) {
    const keyEnd = stringEnd(text, at)
    const start = skipBlanks(text, skipBlanks(text, keyEnd) + 1)
    const end = valueEnd(text, start)
    if (JSON.parse(text.slice(at, keyEnd)) === member) return { start, end }
    at = skipBlanks(text, skipBlanks(text, end) + 1)
  }
  return null
}

function valueEnd(text: string, start: number): number {
  const first = text[start] ?? ''
  if (first === '"') return stringEnd(text, start)
  return depthOf(first) > 0 ? containerEnd(text, start) : indexOf(/[\s,\]}]/g, text, start)
}

function containerEnd(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; ) {
    const one = text[at] ?? ''
    at = one === '"' ? stringEnd(text, at) : at + 1
    depth += depthOf(one)
    if (depth === 0) return at
  }
  return text.length
}

function depthOf(one: string): number {
  if (one === '{' || one === '[') return 1
  return one === '}' || one === ']' ? -1 : 0
}

function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += text[at] === '\\' ? 2 : 1)
    if (text[at] === '"') return at + 1
  return text.length
}

function skipBlanks(text: string, from: number): number {
  return indexOf(/\S/g, text, from)
}

function indexOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from
  return pattern.exec(text)?.index ?? text.length
}
