import type { Row } from './report.ts'

export type Side = 'own' | 'other'
/** One benchmark of one checkout. `rows`: null when it failed. */
export type Run = {
  readonly round: number
  readonly bench: string
  readonly side: Side
  readonly rows: readonly Row[] | null
}

/** One figure of both checkouts: medians of the rounds. */
export type Change = {
  readonly bench: string
  readonly figure: string
  readonly own: number
  /** Null for a figure that the other checkout does not have. */
  readonly other: number | null
  readonly ratio: number | null
  /** Lowest and highest ratio of one round. */
  readonly spread: readonly [number, number] | null
  readonly isWorse: boolean
}

/** More than this is worse. */
const TOLERANCE = 0.05
/** More of these is better. */
const RATE = /per second|successes/

export function changesOf(runs: readonly Run[]): readonly Change[] {
  const named = runs.map((run) => ({ ...run, rows: run.rows === null ? null : withNames(run.rows) }))
  const figures = new Map<string, Row>()
  for (const { side, rows } of named) {
    for (const row of side === 'own' ? (rows ?? []) : [])
      figures.set(JSON.stringify([row.bench, row.figure]), row)
  }
  return [...figures.values()].map((row) => changeOf(row, named))
}

/** One row for each figure: a figure has a row for each peer, and different figures of a benchmark may share a name. */
function withNames(rows: readonly Row[]): readonly Row[] {
  const seen = new Map<string, number[]>()
  return rows.flatMap((row) => {
    const values = seen.get(row.figure) ?? []
    if (values.includes(row.ours)) return []
    seen.set(row.figure, [...values, row.ours])
    return [{ ...row, figure: values.length === 0 ? row.figure : `${row.figure} [${values.length + 1}]` }]
  })
}

function changeOf(row: Row, runs: readonly Run[]): Change {
  const { bench, figure } = row
  const own = byRound(runs, 'own', row)
  const other = byRound(runs, 'other', row)
  const both = [...own].flatMap(([round, value]) => {
    const base = other.get(round)
    return base === undefined || base === 0 ? [] : [value / base]
  })
  const [ours, theirs] = [median([...own.values()]), other.size === 0 ? null : median([...other.values()])]
  const ratio = theirs === null || theirs === 0 ? null : ours / theirs
  const isRate = RATE.test(figure) || (typeof row.goal === 'object' && row.goal !== null)
  const isWorse = ratio !== null && (isRate ? ratio < 1 - TOLERANCE : ratio > 1 + TOLERANCE)
  const spread = both.length === 0 ? null : ([Math.min(...both), Math.max(...both)] as const)
  return { bench, figure, own: ours, other: theirs, ratio, spread, isWorse }
}

/** `ours` of the figure, by round. */
function byRound(runs: readonly Run[], side: Side, { bench, figure }: Row): ReadonlyMap<number, number> {
  return new Map(
    runs.flatMap((run) => {
      const row = run.rows?.find((one) => one.bench === bench && one.figure === figure)
      return run.side === side && row !== undefined ? [[run.round, row.ours] as const] : []
    }),
  )
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

export function printChanges(changes: readonly Change[]): void {
  console.log('bench  figure | this checkout | other | ratio (lowest to highest of a round)')
  for (const { bench, figure, own, other, ratio, spread, isWorse } of changes) {
    const range = spread === null ? '' : ` (${spread.map((value) => value.toFixed(2)).join(' to ')})`
    const beside = ratio === null ? 'new' : `${ratio.toFixed(3)}x${range}`
    console.log(`${bench}  ${figure} | ${own} | ${other ?? '-'} | ${beside}${isWorse ? ' WORSE' : ''}`)
  }
}
