import { diffArrays } from 'diff'

export type DiffLine = {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
  readonly at: number
}

/**
 * Maximum number of changed lines of a diff, which bounds time and memory. A diff with more changes shows the whole
 * text as replaced.
 */
const MAX_CHANGES = 4_000

/** Returns a line diff by the algorithm of Myers. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  const changes = diffArrays(a, b, { maxEditLength: MAX_CHANGES }) ?? [
    { removed: true, added: false, value: a },
    { removed: false, added: true, value: b },
  ]
  return changes
    .flatMap(({ added, removed, value }) =>
      value.map((text) => ({ kind: added ? 'added' : removed ? 'removed' : 'same', text }) as const),
    )
    .map((line, at) => ({ ...line, at }))
}
