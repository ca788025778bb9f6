/** One figure: ours beside a peer's, their ratio, and the goal for the ratio when there is one. */
export type Row = {
  readonly bench: string
  readonly figure: string
  readonly ours: number
  readonly peer: string
  readonly theirs: number | null
  /** For the ratio: at most this, or at least, or the two numbers are the same. */
  readonly goal: number | { readonly atLeast: number } | 'exact' | null
}

export type Goal = number | { readonly atLeast: number }

/** Rows for one figure: ours against every peer, with the goals by peer name. */
export function compare(
  bench: string,
  figure: string,
  values: ReadonlyMap<string, number>,
  goals: Readonly<Record<string, Goal>> = {},
): Row[] {
  const ours = values.get('chaperone')
  if (ours === undefined) return []
  const peers = [...values].filter(([name]) => name !== 'chaperone')
  if (peers.length === 0) return [{ bench, figure, ours, peer: '-', theirs: null, goal: null }]
  return peers.map(([peer, theirs]) => ({ bench, figure, ours, peer, theirs, goal: goals[peer] ?? null }))
}

/** A figure with an absolute goal. */
export function absolute(bench: string, figure: string, ours: number, goal: number | null): Row {
  return { bench, figure, ours, peer: 'goal', theirs: goal, goal: goal === null ? null : 1 }
}

/** A number that has to be this one. */
export function exact(bench: string, figure: string, ours: number, wanted: number): Row {
  return { bench, figure, ours, peer: 'goal', theirs: wanted, goal: 'exact' }
}

export function printTable(rows: readonly Row[]): void {
  const cells = rows.map((row) => {
    const ratio = row.theirs === null ? null : row.ours / row.theirs
    return [
      row.bench,
      row.figure,
      digits(row.ours),
      row.peer,
      row.theirs === null ? '' : digits(row.theirs),
      ratio === null || row.goal === 'exact' ? '' : `${ratio.toFixed(2)}x`,
      goalText(row.goal),
      row.goal === null || ratio === null ? '' : isMet(row, ratio) ? 'met' : 'not met',
    ]
  })
  const all = [['bench', 'figure', 'ours', 'beside', 'theirs', 'ratio', 'goal', ''], ...cells]
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0))) ?? []
  for (const line of all)
    console.log(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

function goalText(goal: Row['goal']): string {
  if (goal === null) return ''
  if (goal === 'exact') return 'exactly'
  return typeof goal === 'number' ? `<= ${goal.toFixed(2)}x` : `>= ${goal.atLeast.toFixed(2)}x`
}

function isMet({ goal, ours, theirs }: Row, ratio: number): boolean {
  if (goal === 'exact') return ours === theirs
  if (goal === null) return true
  return typeof goal === 'number' ? ratio <= goal : ratio >= goal.atLeast
}

function digits(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  if (value === 0) return '0'
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
