/** Sequence numbers of lost records. Both ends are inclusive. */
export type LostRange = {
  readonly process_id: string
  readonly from: number
  readonly to: number
  /**
   * Reason why the control plane does not accept the records; absent for records that were never written, or were lost
   * on disk.
   */
  readonly reason?: 'refused' | 'unreadable' | undefined
}

export type LostRanges = {
  add(processId: string, seq: number): void
  /** Counts records that the control plane does not accept. The upload reports their ranges itself. */
  count(records: number): void
  /** Returns up to `max` unreported ranges, lowest first. Adjacent ranges are merged. */
  list(max: number): readonly LostRange[]
  /** Adds ranges of records that were lost after they were written. */
  found(ranges: readonly LostRange[]): void
  /** Adds lost ranges of earlier processes. `total` does not count them. */
  recovered(ranges: readonly LostRange[]): void
  /** Removes ranges that the control plane has stored. */
  reported(ranges: readonly LostRange[]): void
  readonly total: number
}

export function createLostRanges(): LostRanges {
  let ranges: readonly LostRange[] = []
  let added: LostRange[] = []
  let total = 0
  return {
    add(processId, seq) {
      total++
      addNumber(added, processId, seq)
    },
    count(records) {
      total += records
    },
    list(max) {
      if (added.length > 0) ranges = mergeRanges([...ranges, ...added])
      added = []
      return ranges.slice(0, max)
    },
    found(ranges) {
      total += ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
      added.push(...ranges)
    },
    recovered(found) {
      added.push(...found)
    },
    reported(done) {
      ranges = subtract(ranges, mergeRanges(done))
    },
    get total() {
      return total
    },
  }
}

/** Adds a number to ranges. Extends the last range if the number follows it. */
export function addNumber(ranges: LostRange[], processId: string, seq: number): void {
  const last = ranges.at(-1)
  if (last?.process_id === processId && seq === last.to + 1) ranges[ranges.length - 1] = { ...last, to: seq }
  else ranges.push({ process_id: processId, from: seq, to: seq })
}

/** Sorts ranges by process and start. Merges overlapping and adjacent ranges with the same process and reason. */
export function mergeRanges(ranges: readonly LostRange[]): readonly LostRange[] {
  const merged: LostRange[] = []
  for (const range of ranges.toSorted(compare)) {
    const last = merged.at(-1)
    if (last !== undefined && groupOf(last) === groupOf(range) && range.from <= last.to + 1)
      merged[merged.length - 1] = { ...last, to: Math.max(last.to, range.to) }
    else merged.push(range)
  }
  return merged
}

function compare(a: LostRange, b: LostRange): number {
  const [groupA, groupB] = [groupOf(a), groupOf(b)]
  if (groupA !== groupB) return groupA < groupB ? -1 : 1
  return a.from - b.from
}

function groupOf({ process_id, reason }: LostRange): string {
  return `${reason ?? ''} ${process_id}`
}

/** Returns `ranges` without the numbers in `done`. Both arguments must be merged (see `mergeRanges`). */
export function subtract(ranges: readonly LostRange[], done: readonly LostRange[]): readonly LostRange[] {
  const byGroup = Map.groupBy(done, groupOf)
  return ranges.flatMap((range) => {
    const own = byGroup.get(groupOf(range)) ?? []
    // Fast path: the reported ranges are usually the lowest ones, so most of the given ranges are above every reported
    // range.
    return (own.at(-1)?.to ?? -1) < range.from ? [range] : without(range, own)
  })
}

function without(range: LostRange, done: readonly LostRange[]): readonly LostRange[] {
  const rest: LostRange[] = []
  let { from } = range
  for (const { from: first, to: last } of done) {
    if (last < from || first > range.to) continue
    if (first > from) rest.push({ ...range, from, to: first - 1 })
    from = last + 1
  }
  return from <= range.to ? [...rest, { ...range, from }] : rest
}
