import { expect, test } from 'vitest'
import { createSerial } from '../../../controlplane/sync/serial.ts'

/** Creates work that ends on demand and counts how many runs are concurrent. */
function watched() {
  const open: (() => void)[] = []
  let now = 0
  const seen = { most: 0, runs: 0 }
  const work = async () => {
    seen.runs += 1
    now += 1
    seen.most = Math.max(seen.most, now)
    await new Promise<void>((resolve) => open.push(resolve))
    now -= 1
  }
  return { work, seen, endOne: () => open.shift()?.() }
}

const turns = async () => {
  for (let i = 0; i < 10; i += 1) await Promise.resolve()
}

test('never runs two at a time, at whichever moment a call comes between the end of one and the start of the next', async () => {
  for (let wait = 0; wait < 8; wait += 1) {
    const { work, seen, endOne } = watched()
    const run = createSerial(work)
    void run()
    void run()
    endOne()
    for (let i = 0; i < wait; i += 1) await Promise.resolve()
    void run()
    await turns()
    expect(seen.most).toBe(1)
    for (let i = 0; i < 4; i += 1) {
      endOne()
      await turns()
    }
  }
})

test('a call during a run gets a run that starts after it; all calls during the run share that one', async () => {
  const { work, seen, endOne } = watched()
  const run = createSerial(work)
  const first = run()
  const later = [run(), run(), run()]
  endOne()
  await first
  await turns()
  expect(seen.runs).toBe(2)
  endOne()
  await Promise.all(later)
  expect(seen.runs).toBe(2)
})
