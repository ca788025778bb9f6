/** Sequence numbers of records that exist nowhere. Ranges are inclusive. */
export type LostRange = { readonly process_id: string; readonly from: number; readonly to: number }

export type LostRanges = {
  add(processId: string, seq: number): void
  /** What has not been reported yet. */
  list(): readonly LostRange[]
  /** Forgets ranges that the control plane has stored. */
  reported(ranges: readonly LostRange[]): void
  readonly total: number
}

export function createLostRanges(): LostRanges {
  let ranges: LostRange[] = []
  let total = 0
  return {
    add(processId, seq) {
      total++
      const last = ranges.at(-1)
      if (last?.process_id === processId && seq === last.to + 1)
        ranges[ranges.length - 1] = { ...last, to: seq }
      else ranges.push({ process_id: processId, from: seq, to: seq })
    },
    // Copies: a range that grows while it is being reported is not the one that was reported.
    list: () => [...ranges],
    reported(done) {
      ranges = ranges.flatMap((range) => remainder(range, done))
    },
    get total() {
      return total
    },
  }
}

function remainder(range: LostRange, done: readonly LostRange[]): LostRange[] {
  const match = done.find((d) => d.process_id === range.process_id && d.from === range.from)
  if (match === undefined) return [range]
  return match.to >= range.to ? [] : [{ ...range, from: match.to + 1 }]
}
