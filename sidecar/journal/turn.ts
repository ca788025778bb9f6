import type { Log } from '../process/log.ts'

/**
 * A turn of the event loop. At the end of the turn, its journal lines are written once, and then the refusals that
 * waited for their records are sent.
 */
export class Turn {
  readonly #write: () => void
  readonly #log: Pick<Log, 'warn'>
  #isScheduled = false
  #unsent: (() => void)[] = []

  /** `write` writes the lines of the turn. Must not throw. */
  constructor(write: () => void, log: Pick<Log, 'warn'>) {
    this.#write = write
    this.#log = log
  }

  schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.end())
  }

  /** Calls `send` at the end of the turn, after the write, whether the write succeeds or not. */
  readonly afterWrite = (send: () => void): void => {
    this.#unsent.push(send)
    this.schedule()
  }

  end(): void {
    this.#isScheduled = false
    this.#write()
    const unsent = this.#unsent
    if (unsent.length === 0) return
    this.#unsent = []
    for (const send of unsent) {
      try {
        send()
      } catch (error) {
        this.#log.warn({ err: error }, 'a refusal could not be sent')
      }
    }
  }
}
