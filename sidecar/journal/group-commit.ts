type Group = PromiseWithResolvers<undefined>

export type GroupCommitDeps = {
  /** Flushes everything that was written before the call. */
  readonly sync: () => Promise<void>
  /** A disk that takes longer counts as failed. */
  readonly timeoutMs: number
  readonly onSynced?: (seconds: number) => void
  readonly nowMs: () => number
}

/** One flush for all callers that wait: callers that come while a flush is in flight share the next one. */
export class GroupCommit {
  readonly #deps: GroupCommitDeps
  #waiting: Group | null = null
  #isInFlight = false
  #writes = 0
  /** Of `writes`, those that are on the disk. */
  #flushed = 0

  constructor(deps: GroupCommitDeps) {
    this.#deps = deps
  }

  /** Something was written. */
  wrote(): void {
    this.#writes++
  }

  /** Everything that was written is on the disk. */
  get isFlushed(): boolean {
    return this.#flushed === this.#writes
  }

  /** The disk has not answered yet. */
  get isInFlight(): boolean {
    return this.#isInFlight
  }

  /** Resolves once everything that was written before this call is on the disk; rejects with the disk's error. */
  commit(): Promise<undefined> {
    this.#waiting ??= Promise.withResolvers()
    const { promise } = this.#waiting
    this.#start()
    return promise
  }

  #start(): void {
    const group = this.#waiting
    if (group === null || this.#isInFlight) return
    this.#waiting = null
    this.#isInFlight = true
    void this.#run(group)
  }

  async #run(group: Group): Promise<void> {
    const { sync, timeoutMs, onSynced, nowMs } = this.#deps
    const startedAt = nowMs()
    const writes = this.#writes
    const timer = setTimeout(() => this.#fail(group, slow(timeoutMs)), timeoutMs).unref()
    try {
      await sync()
      this.#flushed = writes
      onSynced?.((nowMs() - startedAt) / 1_000)
      group.resolve(undefined)
    } catch (error) {
      this.#fail(group, error)
    } finally {
      clearTimeout(timer)
      this.#isInFlight = false
      this.#start()
    }
  }

  /** After a failed flush the kernel may drop the pages and report success for the next one: the next group fails as well. */
  #fail(group: Group, error: unknown): void {
    group.reject(error)
    this.#waiting?.reject(error)
    this.#waiting = null
  }
}

function slow(timeoutMs: number): Error {
  return Object.assign(new Error(`the disk did not confirm a flush within ${timeoutMs / 1_000} s`), {
    code: 'ETIMEDOUT',
  })
}
