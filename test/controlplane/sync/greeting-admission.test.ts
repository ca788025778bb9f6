import { describe, expect, test, vi } from 'vitest'
import { GreetingAdmission } from '../../../controlplane/sync/greeting-admission.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { seeded } from '../../support/proof.ts'

const FLEET = 5_000

function admissionAt(start = 0) {
  const at = { ms: start }
  let storms = 0
  const admission = new GreetingAdmission({
    clock: { monotonicMs: () => at.ms },
    random: seeded(1),
    onStorm: () => {
      storms += 1
    },
  })
  /** Returns null for an admitted stream, or the seconds of `Retry-After`. */
  const admit = (): number | null => {
    try {
      admission.admit()
      return null
    } catch (error) {
      if (!(error instanceof ChaperoneError)) throw error
      expect(error.code).toBe('overloaded')
      return error.options.retryAfterS ?? 0
    }
  }
  return { at, admission, admit, storms: () => storms }
}

/** All streams connect at once and retry after `Retry-After` with a jitter of a second. Returns the time of each admission. */
function storm(streams: number): { readonly admittedAt: readonly number[]; readonly refused: number } {
  const { at, admit } = admissionAt()
  const random = seeded(2)
  let due = Array.from({ length: streams }, (_, index) => index / 10)
  const admittedAt: number[] = []
  let refused = 0
  while (due.length > 0) {
    due.sort((a, b) => a - b)
    const later: number[] = []
    for (const each of due) {
      at.ms = Math.max(at.ms, each)
      const retryAfterS = admit()
      if (retryAfterS === null) admittedAt.push(at.ms)
      else {
        refused += 1
        later.push(at.ms + (retryAfterS + random()) * 1_000)
      }
    }
    due = later
  }
  return { admittedAt, refused }
}

describe('after a restart', () => {
  test('5,000 streams are admitted within 25 s, at most 500 of them in any second', () => {
    const { admittedAt } = storm(FLEET)
    expect(admittedAt).toHaveLength(FLEET)
    expect(Math.max(...admittedAt)).toBeLessThan(25_000)
    const busiest = Math.max(
      ...Array.from({ length: 26 }, (_, s) => admittedAt.filter((ms) => Math.floor(ms / 1_000) === s).length),
    )
    expect(busiest).toBeLessThanOrEqual(500)
  })

  test('the retries are spread: few streams are refused more than once', () => {
    expect(storm(FLEET).refused).toBeLessThan(1.5 * FLEET)
  })

  test('streams beyond the last slot are spread over the wait instead of returning together', () => {
    const { admit } = admissionAt()
    const waits = Array.from({ length: 20_000 }, admit).flatMap((each) => each ?? [])
    const beyond = waits.slice(5_000)
    expect(Math.max(...waits)).toBe(20)
    for (let s = 1; s <= 20; s++) {
      expect(beyond.filter((each) => each === s).length).toBeLessThan(beyond.length / 10)
    }
  })
})

test('a small fleet is admitted at once, and a storm is reported once', () => {
  const { at, admit, storms } = admissionAt()
  for (let n = 0; n < 250; n++) expect(admit()).toBeNull()
  expect(storms()).toBe(0)
  expect(admit()).toBe(1)
  expect(admit()).toBe(1)
  expect(storms()).toBe(1)
  at.ms += 60_000
  for (let n = 0; n < 250; n++) expect(admit()).toBeNull()
  expect(admit()).toBe(1)
  expect(storms()).toBe(2)
})

describe('sections', () => {
  test('wait until the reserved slots have passed, at most 10 s, and not at all in quiet times', async () => {
    vi.useFakeTimers()
    try {
      const { admit, admission } = admissionAt()
      await admission.settled()
      for (let n = 0; n < 500; n++) admit()
      let isSettled = false
      void admission.settled().then(() => {
        isSettled = true
      })
      await vi.advanceTimersByTimeAsync(1_900)
      expect(isSettled).toBe(false)
      await vi.advanceTimersByTimeAsync(200)
      expect(isSettled).toBe(true)
      for (let n = 0; n < 5_000; n++) admit()
      const late = admission.settled()
      await vi.advanceTimersByTimeAsync(10_000)
      await late
    } finally {
      vi.useRealTimers()
    }
  })

  test('do not wait for a replica that shuts down', async () => {
    const { admit, admission } = admissionAt()
    for (let n = 0; n < 500; n++) admit()
    const waiting = admission.settled()
    admission[Symbol.dispose]()
    await waiting
  })
})
