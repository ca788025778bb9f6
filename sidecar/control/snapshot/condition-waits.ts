import type { ExchangeSignal } from '../../pipeline/exchange-abort.ts'

/** Waits for conditions that a new snapshot or a step of the start-up may meet. */
export type ConditionWaits = {
  /** Evaluates the conditions again, after a snapshot was applied or other inputs changed. */
  changed(): void
  /**
   * Evaluates `isMet` at each change. Resolves when it returns true, after `ms` milliseconds, or when the signal fires.
   * Never rejects.
   */
  until(isMet: () => boolean, ms: number, signal?: ExchangeSignal): Promise<void>
}

export function createConditionWaits(): ConditionWaits {
  const checks = new Set<() => void>()
  return {
    changed() {
      for (const check of [...checks]) check()
    },
    until(isMet, ms, signal) {
      if (isMet() || signal?.aborted === true) return Promise.resolve()
      return new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer)
          checks.delete(check)
          signal?.removeEventListener('abort', done)
          resolve()
        }
        const check = (): void => {
          if (isMet()) done()
        }
        const timer = setTimeout(done, ms)
        checks.add(check)
        signal?.addEventListener('abort', done)
      })
    },
  }
}
