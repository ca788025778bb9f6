import { type Document, isNode, isSeq, parseDocument, stringify } from 'yaml'
import { ChaperoneError } from '../../errors.ts'

/** An item of a list at the top level of a YAML text. A missing list is added. */
export type YamlItem = { readonly key: string; readonly index: number; readonly item: unknown }

/**
 * Inserts an item into a list of a YAML text. First tries a text in which all other lines stay unchanged, which
 * requires a list in block style. Then tries the whole text formatted again, with its comments. Returns the first text
 * that `isRight` accepts; null if it accepts none.
 * @param isRight Reports whether a changed text has the wanted content. If it throws `validation` for the first text,
 * the function tries the second text. The function passes on an error for the second text.
 */
export function withItem(text: string, item: YamlItem, isRight: (changed: string) => boolean): string | null {
  const yaml = parseDocument(text)
  const inserted = insertedLines(text, yaml, item)
  if (inserted !== null && holds(inserted, isRight)) return inserted
  const formatted = formattedAgain(yaml, item)
  return isRight(formatted) ? formatted : null
}

function holds(text: string, isRight: (changed: string) => boolean): boolean {
  try {
    return isRight(text)
  } catch (error) {
    if (error instanceof ChaperoneError && error.code === 'validation') return false
    throw error
  }
}

/**
 * Returns the text with the item inserted at its index, above the comments of the next item. Appends a missing list.
 * Null if the list is not in block style, or has no item at the index.
 */
function insertedLines(text: string, yaml: Document, { key, index, item }: YamlItem): string | null {
  const list = yaml.get(key, true)
  if (list === undefined) return `${text.replace(/\n*$/, '\n')}${linesOf({ [key]: [item] }, '')}`
  const next = isSeq(list) ? list.items[index] : undefined
  const start = isNode(next) ? (next.range?.[0] ?? 0) : 0
  const line = text.lastIndexOf('\n', start - 1) + 1
  const [, indent] = /^( *)- +$/.exec(text.slice(line, start)) ?? []
  if (indent === undefined) return null
  const at = startOfComments(text, line)
  return text.slice(0, at) + linesOf([item], indent) + text.slice(at)
}

function linesOf(value: unknown, indent: string): string {
  return stringify(value, { lineWidth: 0 }).replace(/^(?=.)/gm, indent)
}

/**
 * Returns the offset of the first comment line directly above the line that begins at `end`; `end` if there is none.
 */
function startOfComments(text: string, end: number): number {
  let start = end
  while (start > 0) {
    const above = text.lastIndexOf('\n', start - 2) + 1
    if (!/^ *#/.test(text.slice(above, start))) break
    start = above
  }
  return start
}

function formattedAgain(yaml: Document, { key, index, item }: YamlItem): string {
  const list = yaml.get(key, true)
  if (isSeq(list)) list.items.splice(index, 0, yaml.createNode(item))
  else yaml.set(key, yaml.createNode([item]))
  return yaml.toString({ lineWidth: 0 })
}
