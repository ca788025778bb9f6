/**
 * Long work as a generator. It yields at the end of every slice, so that its caller can serve other requests before it
 * resumes. Abandoned work is never resumed.
 */
export type Sliced<T> = Generator<undefined, T, undefined>

/** Runs all slices at once and returns the result, for callers without other requests. */
export function runSliced<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}
