import type { TrafficRecord } from '../../core/record.ts'
import type { OpenIntent } from '../pipeline/ports.ts'
import type { Backlog } from './backlog.ts'
import type { LostRanges } from './lost-ranges.ts'
import type { OpenIntents } from './open-intents.ts'
import type { Sequence } from './sequence.ts'

type PendingResult = Pick<TrafficRecord, 'seq' | 'process_id'> & {
  readonly json: Buffer
  /** Intent of the result. The intent stays open until its result is written. */
  readonly intent: OpenIntent | undefined
}

type PendingResultsDeps = {
  readonly backlog: Backlog
  readonly lost: LostRanges
  readonly open: OpenIntents
  readonly sequence: Sequence
}

/** Results of this turn of the event loop, which are pending until the outcome of their write is known. */
export class PendingResults {
  readonly #deps: PendingResultsDeps
  #results: PendingResult[] = []
  /**
   * Results whose write failed and whose requests have an intent. Their number never exceeds the number of requests
   * that were in flight when writes began to fail.
   */
  #retained: PendingResult[] = []

  constructor(deps: PendingResultsDeps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#results.length + this.#retained.length
  }

  add({ seq, process_id }: TrafficRecord, json: Buffer, intent: OpenIntent | undefined): void {
    this.#results.push({ seq, process_id, json: Buffer.from(json), intent })
  }

  /** Returns the JSON of results whose write failed, for another write. */
  retry(): readonly Buffer[] {
    const again = this.#retained
    this.#retained = []
    this.#results.push(...again)
    return again.map(({ json }) => json)
  }

  settle(isWritten: boolean): void {
    const { backlog, lost, open, sequence } = this.#deps
    const results = this.#results
    this.#results = []
    for (const result of results) {
      const { json, process_id, seq, intent } = result
      if (isWritten) {
        backlog.add(json, result)
        sequence.written(seq)
        if (intent !== undefined) open.remove(intent)
      } else if (intent === undefined) {
        lost.add(process_id, seq)
        sequence.written(seq)
      } else this.#retained.push(result)
    }
  }
}
