/** Lets a caller wait for a condition that a new snapshot, or another step of the start, may fulfil. */
export type ConditionWaits = {
  /** A snapshot was applied, or something else that conditions look at. */
  changed(): void
  /** Resolves once `isMet`, looked at with every change, or after `ms`. Never rejects. */
  until(isMet: () => boolean, ms: number): Promise<void>
}

export function createConditionWaits(): ConditionWaits {
  const checks = new Set<() => void>()
  return {
    changed() {
      for (const check of [...checks]) check()
    },
    until(isMet, ms) {
      if (isMet()) return Promise.resolve()
      return new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer)
          checks.delete(check)
          resolve()
        }
        const check = (): void => {
          if (isMet()) done()
        }
        const timer = setTimeout(done, ms)
        checks.add(check)
      })
    },
  }
}
