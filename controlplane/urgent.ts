/** How long a kill switch waits for the database: it is answered within two seconds. */
export const URGENT_MS = 1_000

/** Null when it rejects or takes longer. */
export function unlessLate<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), ms)
    promise.then(resolve, () => resolve(null)).finally(() => clearTimeout(timer))
  })
}
