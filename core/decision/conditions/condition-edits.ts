import { type CelNode, ShapeError } from './cel-node.ts'

/** A replacement in a condition's text; `start` equals `end` for an insertion. */
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

/** Wraps a variable or fact in a call of `name`. Throws ShapeError for one that a parenthesis splits. */
export function wrapFact(name: string, { start, end }: CelNode, text: string): readonly Edit[] {
  const plain = text.slice(start, end).replaceAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '')
  if (/[()]/.test(plain)) throw new ShapeError('write this fact without parentheses', start)
  return [
    { start, end: start, text: `${name}(` },
    { start: end, end, text: ')' },
  ]
}
