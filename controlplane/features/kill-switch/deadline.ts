/** A moment by which an answer has to be given, for all parts of the work together. */
export type Deadline = {
  remainingMs(): number
  /** What `work` resolves to, or `otherwise` when that takes too long. The work itself goes on. */
  limit<T>(work: Promise<T>, otherwise: T): Promise<T>
}

export function createDeadline(ms: number): Deadline {
  const startedAt = performance.now()
  const remainingMs = () => Math.max(0, ms - (performance.now() - startedAt))
  return {
    remainingMs,
    async limit(work, otherwise) {
      let timer: NodeJS.Timeout | undefined
      const late = new Promise<typeof otherwise>((resolve) => {
        timer = setTimeout(() => resolve(otherwise), remainingMs())
      })
      return Promise.race([work, late]).finally(() => clearTimeout(timer))
    },
  }
}
