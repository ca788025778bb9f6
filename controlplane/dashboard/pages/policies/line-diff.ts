export type DiffLine = {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
  readonly at: number
}

/** Above this many pairs of lines the middle is shown as replaced: nobody reads such a diff line by line. */
const MAX_CELLS = 4_000_000

/** The lines of `before` and `after` in one list, by their longest common subsequence. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split('\n')
  const b = after.split('\n')
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const middle = between(a.slice(start, a.length - end), b.slice(start, b.length - end))
  const lines = [
    ...a.slice(0, start).map((text) => ({ kind: 'same' as const, text })),
    ...middle,
    ...a.slice(a.length - end).map((text) => ({ kind: 'same' as const, text })),
  ]
  return lines.map((line, at) => ({ ...line, at }))
}

type Line = Omit<DiffLine, 'at'>

const removed = (text: string): Line => ({ kind: 'removed', text })
const added = (text: string): Line => ({ kind: 'added', text })

function between(a: readonly string[], b: readonly string[]): Line[] {
  if (a.length * b.length > MAX_CELLS) return [...a.map(removed), ...b.map(added)]
  const lengths = commonLengths(a, b)
  const common = (i: number, j: number) => lengths[i * (b.length + 1) + j] ?? 0
  const lines: Line[] = []
  let i = 0
  let j = 0
  while (i < a.length && j < b.length) {
    const text = a[i] ?? ''
    if (text === b[j]) {
      lines.push({ kind: 'same', text })
      i++
      j++
    } else if (common(i + 1, j) >= common(i, j + 1)) {
      lines.push(removed(text))
      i++
    } else {
      lines.push(added(b[j] ?? ''))
      j++
    }
  }
  return [...lines, ...a.slice(i).map(removed), ...b.slice(j).map(added)]
}

/** Lengths of the longest common subsequences of the ends from (i, j), row by row. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint32Array {
  const width = b.length + 1
  const lengths = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const below = lengths[(i + 1) * width + j] ?? 0
      const beside = lengths[i * width + j + 1] ?? 0
      lengths[i * width + j] =
        a[i] === b[j] ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(below, beside)
    }
  }
  return lengths
}
