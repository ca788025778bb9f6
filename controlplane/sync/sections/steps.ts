/**
 * Work in steps: the caller decides after each step whether to yield to the event loop. A step takes a few milliseconds
 * at most.
 */
export type Steps<T> = Generator<undefined, T, undefined>

/** Number of entries that one step processes. The serialization of an entry takes a few microseconds. */
const ENTRIES_PER_STEP = 250

/** Runs all steps without yielding to the event loop. */
export function complete<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Runs the steps and awaits `pause` after each of them. */
export async function completeInSlices<T>(steps: Steps<T>, pause: () => Promise<void>): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await pause()
  }
}

/** Calls `work` with the items, `ENTRIES_PER_STEP` of them in each step. */
export function* inSteps<T>(items: readonly T[], work: (items: readonly T[]) => void): Steps<undefined> {
  for (let from = 0; from < items.length; from += ENTRIES_PER_STEP) {
    work(items.slice(from, from + ENTRIES_PER_STEP))
    yield undefined
  }
  return undefined
}
