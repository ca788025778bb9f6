import { MAX_JSON_COMMAS, MAX_JSON_NODES } from './json-bounds.ts'
import { stringEnd } from './strict-json.ts'

export type JsonBounds = { readonly nodes: number; readonly commas: number }

const BOUNDS: JsonBounds = { nodes: MAX_JSON_NODES, commas: MAX_JSON_COMMAS }
/** Characters that count as a node: a brace, a bracket, and the colon after a key. */
const NODES: ReadonlySet<number> = new Set([0x7b, 0x5b, 0x3a])
const QUOTE = 0x22
const COMMA = 0x2c

/**
 * Reports whether a text has more objects, lists, keys or elements than the bounds allow. The function is for texts
 * that `parseStrictJson` does not check. It reads only the structure of the text, and stops at the bound.
 */
export function exceedsJsonBounds(text: string, bounds: JsonBounds = BOUNDS): boolean {
  const left = { nodes: bounds.nodes, commas: bounds.commas }
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (NODES.has(code)) left.nodes -= 1
    if (code === COMMA) left.commas -= 1
    if (left.nodes < 0 || left.commas < 0) return true
    at = code === QUOTE ? stringEnd(text, at) : at + 1
  }
  return false
}
