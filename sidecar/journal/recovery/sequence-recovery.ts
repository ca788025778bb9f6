import * as z from 'zod'
import { line } from '../line.ts'
import { type LostRange, mergeRanges } from '../lost-ranges.ts'

const SequenceLine = z.object({
  /** Id of the process that assigned the numbers. */
  id: z.string(),
  /** Numbers below `base` have lines in earlier segments or copies in this one, unless `unwritten` lists them. */
  base: z.int().min(0),
  /** Numbers below `base` that had no line when the segment began. */
  unwritten: z.array(z.int().min(0)).default([]),
  /** The first number that is not reserved. */
  reserved: z.int().min(0),
})
const LostLine = z.object({ id: z.string(), from: z.int().min(0), to: z.int().min(0) })

/** Returns the line that keeps a lost range until the control plane has stored it. */
export function lostLine({ process_id, from, to }: LostRange): string {
  return line('lost', JSON.stringify({ id: process_id, from, to }))
}

type Process = {
  readonly seen: Set<number>
  /**
   * `base` is the lowest base of all remaining segments, `lastBase` the highest. Bases are compared, because the order
   * of files is unreliable when their modification times were lost.
   */
  base: number | null
  unwritten: readonly number[]
  lastBase: number
  reserved: number
  /** True when the first segment remains. Segments are deleted in order, so all later segments then remain too. */
  isWhole: boolean
  /** Numbers of dropped intents, which may be unused. */
  readonly released: Set<number>
}

/** Collects the sequence numbers of earlier processes while their segments are read in order. */
export class SequenceRecovery {
  readonly #processes = new Map<string, Process>()
  readonly #intents = new Map<string, { readonly process: string; readonly seq: number }>()
  readonly #lost: LostRange[] = []

  result({ seq, process_id }: Numbered): void {
    if (typeof seq === 'number' && typeof process_id === 'string') this.#process(process_id).seen.add(seq)
  }

  intent({ id, seq, process_id }: Numbered): void {
    if (typeof seq === 'number' && typeof process_id === 'string')
      this.#intents.set(id, { process: process_id, seq })
  }

  /** Discards an intent whose sequence number was released for reuse. */
  dropped(id: string): void {
    const intent = this.#intents.get(id)
    if (intent !== undefined) this.#process(intent.process).released.add(intent.seq)
    this.#intents.delete(id)
  }

  /** Notes that all segments of a process remain, so that each of its numbers must have a line. */
  begins(id: string): void {
    this.#process(id).isWhole = true
  }

  /** Reports whether a result has the number of this record, or the number was reported as lost. */
  isSettled({ seq, process_id }: Numbered): boolean {
    if (typeof seq !== 'number' || typeof process_id !== 'string') return false
    const isLost = this.#lost.some((range) => range.process_id === process_id && isWithin(seq, range))
    return isLost || this.#process(process_id).seen.has(seq)
  }

  /** Adds a line of phase `sequence`. Returns false for an invalid line. */
  sequence(json: string): boolean {
    const read = SequenceLine.safeParse(JSON.parse(json))
    if (!read.success) return false
    const { id, base, unwritten, reserved } = read.data
    const process = this.#process(id)
    if (process.base === null || base < process.base) Object.assign(process, { base, unwritten })
    if (base >= process.lastBase) Object.assign(process, { lastBase: base, reserved })
    return true
  }

  /** Adds a line of phase `lost`. Returns false for an invalid line. */
  lost(json: string): boolean {
    const read = LostLine.safeParse(JSON.parse(json))
    if (!read.success) return false
    const { id, from, to } = read.data
    this.#lost.push({ process_id: id, from, to })
    return true
  }

  /** Returns the ranges of numbers that were taken or reserved but have no record, merged and in order. */
  gaps(): readonly LostRange[] {
    for (const { process, seq } of this.#intents.values()) this.#process(process).seen.add(seq)
    const found = [...this.#processes].flatMap(([id, process]) => gapsOf(id, process))
    return mergeRanges([...this.#lost, ...found])
  }

  #process(id: string): Process {
    const known = this.#processes.get(id)
    if (known !== undefined) return known
    const made: Process = {
      seen: new Set<number>(),
      base: null,
      unwritten: [],
      lastBase: 0,
      reserved: 0,
      isWhole: false,
      released: new Set<number>(),
    }
    this.#processes.set(id, made)
    return made
  }
}

function isWithin(seq: number, { from, to }: LostRange): boolean {
  return from <= seq && seq <= to
}

type Numbered = { readonly id: string; readonly seq?: unknown; readonly process_id?: unknown }

function gapsOf(process_id: string, process: Process): LostRange[] {
  const { seen, unwritten, reserved, isWhole, released } = process
  if (process.base === null) return isWhole ? gapsBelow(process_id, { from: 0, seen, released, end: 0 }) : []
  const ranges = unwritten.filter((seq) => !seen.has(seq)).map((seq) => ({ process_id, from: seq, to: seq }))
  return [
    ...ranges,
    ...gapsBelow(process_id, { from: process.base, seen, released: new Set(), end: reserved }),
  ]
}

type Numbers = {
  readonly from: number
  readonly seen: ReadonlySet<number>
  readonly released: ReadonlySet<number>
  /** The first number that is not reserved. */
  readonly end: number
}

/** Returns the ranges of missing numbers from `from` to the highest one that was seen or reserved. */
function gapsBelow(process_id: string, { from: first, seen, released, end }: Numbers): LostRange[] {
  const ranges: LostRange[] = []
  let from = first
  const known = [...seen, ...released].filter((each) => each >= first).sort((a, b) => a - b)
  for (const seq of known) {
    if (seq > from) ranges.push({ process_id, from, to: seq - 1 })
    from = Math.max(from, seq + 1)
  }
  return from < end ? [...ranges, { process_id, from, to: end - 1 }] : ranges
}
