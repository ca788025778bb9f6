/**
 * Long work as a generator: it yields at the end of every slice, and its caller serves other requests before resuming.
 * An abandoned one is never resumed.
 */
export type Sliced<T> = Generator<undefined, T, undefined>

/** Runs all slices at once, for callers without other requests. */
export function runSliced<T>(work: Sliced<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}
