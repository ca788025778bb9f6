type Group = PromiseWithResolvers<undefined>

export type GroupCommitDeps = {
  /** Flushes everything that was written before the call. */
  readonly sync: () => Promise<void>
  /** Time limit of one flush in milliseconds. Beyond the limit, the flush counts as failed. */
  readonly timeoutMs: number
  readonly onSynced?: (seconds: number) => void
  readonly nowMs: () => number
}

/** Commits in groups: one flush serves all waiting callers. Callers that arrive during a flush share the next one. */
export class GroupCommit {
  readonly #deps: GroupCommitDeps
  #waiting: Group | null = null
  #isInFlight = false
  #writes = 0
  /** Number of writes that are on disk. */
  #flushed = 0

  constructor(deps: GroupCommitDeps) {
    this.#deps = deps
  }

  /** Counts one write, which the next flush covers. */
  wrote(): void {
    this.#writes++
  }

  /** True when every write is on disk. */
  get isFlushed(): boolean {
    return this.#flushed === this.#writes
  }

  /** True while a flush is in progress. */
  get isInFlight(): boolean {
    return this.#isInFlight
  }

  /** Resolves once everything written before this call is on disk. Rejects with the error of the disk. */
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

  /**
   * Fails the callers of a flush and those that wait for the next one: after a failed flush, the kernel may discard the
   * pages and report success for the next flush.
   */
  #fail(group: Group, error: unknown): void {
    group.reject(error)
    this.#waiting?.reject(error)
    this.#waiting = null
  }
}

function slow(timeoutMs: number): Error {
  return Object.assign(new Error(`the disk did not complete a flush within ${timeoutMs / 1_000} s`), {
    code: 'ETIMEDOUT',
  })
}
