import type { ChaperoneError } from '../../core/errors.ts'
import type { TrafficRecord } from '../../core/record.ts'
import { Registry, type RegistryHandle } from '../collections/registry.ts'
import type { OpenIntent } from '../pipeline/ports.ts'
import { recordJson } from '../pipeline/record/record-json.ts'
import { line } from './line.ts'

/** The intents of one turn of the event loop, which share one write and the outcome of that write. */
export type IntentGroup = {
  readonly handles: RegistryHandle<TrafficRecord>[]
  readonly written: PromiseWithResolvers<undefined>
}

/** Intents without a result. A new segment begins with copies of them, so that older segments can be deleted. */
export class OpenIntents {
  readonly #open = new Registry<TrafficRecord>()
  #group: IntentGroup | null = null
  /**
   * Ids of intents whose write or flush failed. Such an intent may have a line in the journal, but its request was
   * refused.
   */
  #rejected: string[] = []

  get size(): number {
    return this.#open.size
  }

  /** Adds an intent to the group of this turn of the event loop. */
  add(record: TrafficRecord): OpenIntent {
    const handle = this.#open.add(record)
    this.#group ??= { handles: [], written: Promise.withResolvers() }
    this.#group.handles.push(handle)
    return { handle, written: this.#group.written.promise }
  }

  remove({ handle }: OpenIntent): void {
    this.#open.remove(handle)
  }

  /** Ends the group of this turn of the event loop and returns it; null when the group is empty. */
  takeGroup(): IntentGroup | null {
    const group = this.#group
    this.#group = null
    return group
  }

  /**
   * Rejects the intents of the group. Returns their sequence numbers, because these numbers may have no line on disk.
   */
  reject({ handles, written }: IntentGroup, error: ChaperoneError): readonly number[] {
    const unwritten = handles.flatMap((handle) => {
      if (handle.item === null) return []
      const { id, seq } = handle.item
      this.#open.remove(handle)
      this.#rejected.push(id)
      return [seq]
    })
    written.reject(error)
    return unwritten
  }

  /** Returns lines with all open intents, for a new segment. */
  carried(): string {
    const dropped = this.#rejected.map((id) => line('dropped', JSON.stringify({ id })))
    return [...this.#open.all().map((record) => line('intent', recordJson(record))), ...dropped].join('')
  }

  /**
   * Discards the ids of rejected intents. Must be called only when the lines of `carried` are in the active segment.
   */
  clearRejected(): void {
    this.#rejected = []
  }
}
