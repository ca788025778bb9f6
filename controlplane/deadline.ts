/** Time limit of one response, shared by all steps of the response. */
export type Deadline = {
  remainingMs(): number
  /** Resolves to the result of `work`, or to `otherwise` at the limit. `work` continues after the limit. */
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
