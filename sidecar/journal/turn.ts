/** A turn of the event loop. At its end its lines are written once, and then the refusals among them are sent. */
export class Turn {
  readonly #write: () => void
  #isScheduled = false
  #unsent: (() => void)[] = []

  /** `write` writes the lines of the turn. Must not throw. */
  constructor(write: () => void) {
    this.#write = write
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
    for (const send of unsent) send()
  }
}
