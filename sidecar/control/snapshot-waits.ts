/** Lets a caller wait for a condition that a new snapshot may fulfil. */
export type SnapshotWaits = {
  /** A snapshot was applied. */
  changed(): void
  /** Resolves once `isMet`, looked at with every snapshot, or after `ms`. Never rejects. */
  until(isMet: () => boolean, ms: number): Promise<void>
}

export function createSnapshotWaits(): SnapshotWaits {
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
