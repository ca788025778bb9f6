/**
 * Long computation as a generator. It yields at the end of every slice, so that its caller can serve other requests
 * before it resumes the computation. The caller may also abandon the computation.
 */
export type Sliced<T> = Generator<undefined, T, undefined>

/** Runs all slices without a pause and returns the result, for callers that serve no other requests. */
export function runSliced<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}
