import { type CelNode, ShapeError } from './cel-node.ts'

/** Replacement in the text of a condition. `start` equals `end` for an insertion. */
export type Edit = { readonly start: number; readonly end: number; readonly text: string }

/** Applies the edits to the text. Replacements must not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  return [...edits]
    .sort((a, b) => b.start - a.start || b.end - a.end)
    .reduce(
      (edited, { start, end, text: inserted }) => edited.slice(0, start) + inserted + edited.slice(end),
      text,
    )
}

export function replaceLiteral({ start, end }: CelNode, value: string): Edit {
  return { start, end, text: JSON.stringify(value) }
}

/**
 * Wraps a variable or fact in a call of the function `name`. Throws ShapeError if the text of the fact has a
 * parenthesis outside of string literals, because the offsets may include only one parenthesis of a pair.
 */
export function wrapFact(name: string, { start, end }: CelNode, text: string): readonly Edit[] {
  const plain = text.slice(start, end).replaceAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '')
  if (/[()]/.test(plain)) throw new ShapeError('this fact must be written without parentheses', start)
  return [
    { start, end: start, text: `${name}(` },
    { start: end, end, text: ')' },
  ]
}
