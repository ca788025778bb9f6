import type { JournalDeps } from './journal-deps.ts'

type Operation = 'write' | 'sync'

type OutageDeps = Pick<JournalDeps, 'dir' | 'log' | 'probeMs' | 'metrics'>

type OutageHandlers = {
  /**
   * Tries to make the journal writable. Resolves when the journal is writable again, and rejects while it is not.
   * `isSuspect` is true after a failed flush.
   */
  retry(isSuspect: boolean): Promise<void>
  /** Called when the outage ends. */
  ended(): void
}

/** An outage of the journal's disk: its cause and the timer of the retries. */
export class Outage {
  readonly #deps: OutageDeps
  readonly #handlers: OutageHandlers
  #reason: string | null = null
  #probe: NodeJS.Timeout | null = null
  #isRetrying = false
  /**
   * True after a failed flush: lines of the active segment may never reach the disk, even if a later flush succeeds.
   */
  #isSuspect = false

  constructor(deps: OutageDeps, handlers: OutageHandlers) {
    this.#deps = deps
    this.#handlers = handlers
  }

  get isOn(): boolean {
    return this.#reason !== null
  }

  /** Error message of the disk; null while the journal is writable. */
  get reason(): string | null {
    return this.#reason
  }

  begin(operation: Operation, error: unknown): void {
    const { dir, log, probeMs = 1_000, metrics } = this.#deps
    metrics?.failed(operation)
    if (!this.isOn)
      log.warn(
        { err: error, dir, operation },
        'journal cannot be written; the gateway refuses requests until the journal is writable',
      )
    this.#reason = error instanceof Error ? error.message : String(error)
    if (operation === 'sync') this.#isSuspect = true
    this.#probe ??= setInterval(() => void this.#retry(), probeMs).unref()
  }

  /** Runs `work`. When `work` throws, begins an outage and returns false. */
  attempt(operation: Operation, work: () => void): boolean {
    try {
      work()
      return true
    } catch (error) {
      this.begin(operation, error)
      return false
    }
  }

  /** Stops the retries without ending the outage. */
  stop(): void {
    if (this.#probe !== null) clearInterval(this.#probe)
    this.#probe = null
  }

  async #retry(): Promise<void> {
    if (this.#isRetrying) return
    this.#isRetrying = true
    const { dir, log } = this.#deps
    try {
      await this.#handlers.retry(this.#isSuspect)
      this.stop()
      this.#reason = null
      this.#isSuspect = false
      this.#handlers.ended()
    } catch (error) {
      log.warn({ err: error, dir }, 'journal still cannot be written')
    } finally {
      this.#isRetrying = false
    }
  }
}
