/** Of the two seconds within which a kill switch is answered: how long the check of its caller waits for the database. */
export const URGENT_MS = 600

/** Null when it rejects or takes longer. */
export function unlessLate<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), ms)
    promise.then(resolve, () => resolve(null)).finally(() => clearTimeout(timer))
  })
}
