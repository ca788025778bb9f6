import * as z from 'zod'
import type { ChaperoneError } from '../../core/errors.ts'
import { Roster, type Seat } from '../collections/registry.ts'
import type { OpenIntent } from '../pipeline/ports.ts'
import { line } from './line.ts'

/** The intents of one turn of the event loop: one write and one answer for all of them. */
export type IntentGroup = {
  readonly seats: Seat<string>[]
  readonly written: PromiseWithResolvers<undefined>
}

const Identified = z.object({ id: z.string(), seq: z.number() })

/** Intents without a result: carried into the next segment, so that old ones can go. */
export class OpenIntents {
  readonly #open = new Roster<string>()
  #group: IntentGroup | null = null
  /** Ids of intents that were written and not flushed: their requests were refused. */
  #rejected: string[] = []

  get size(): number {
    return this.#open.size
  }

  /** Joins the group of this turn. */
  add(json: string): OpenIntent {
    const seat = this.#open.add(json)
    this.#group ??= { seats: [], written: Promise.withResolvers() }
    this.#group.seats.push(seat)
    return { seat, written: this.#group.written.promise }
  }

  remove({ seat }: OpenIntent): void {
    this.#open.remove(seat)
  }

  /** Ends the group of this turn and returns it; null when it has no intents. */
  takeGroup(): IntentGroup | null {
    const group = this.#group
    this.#group = null
    return group
  }

  /** Returns the sequence numbers of which the disk may have no line. */
  reject({ seats, written }: IntentGroup, error: ChaperoneError): readonly number[] {
    const unwritten = seats.flatMap((seat) => {
      if (seat.item === null) return []
      const { id, seq } = Identified.parse(JSON.parse(seat.item))
      this.#open.remove(seat)
      this.#rejected.push(id)
      return [seq]
    })
    written.reject(error)
    return unwritten
  }

  /** Lines for a new segment. */
  carried(): string {
    const dropped = this.#rejected.map((id) => line('dropped', JSON.stringify({ id })))
    return [...this.#open.all().map((json) => line('intent', json)), ...dropped].join('')
  }

  /** The lines that `carried` returned are in the segment in use. */
  forgetRejected(): void {
    this.#rejected = []
  }
}
