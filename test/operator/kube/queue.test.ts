import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { createWorkQueue } from '../../../operator/kube/queue.ts'
import { eventually } from '../../support/eventually.ts'

const log = pino({ level: 'silent' })

describe('the work queue', () => {
  test('runs a key once however often it was added, never twice at a time, and again if it was added during its run', async () => {
    const gates: Array<() => void> = []
    let most = 0
    let now = 0
    const queue = createWorkQueue({
      log,
      concurrency: 8,
      async work() {
        now += 1
        most = Math.max(most, now)
        await new Promise<void>((resolve) => gates.push(resolve))
        now -= 1
      },
    })
    for (let i = 0; i < 50; i += 1) queue.add('a')
    await eventually('it began', () => (gates.length === 1 ? true : null))
    for (let i = 0; i < 50; i += 1) queue.add('a')
    gates[0]?.()
    await eventually('it runs once more', () => (gates.length === 2 ? true : null))
    gates[1]?.()
    await eventually('it is empty', () => (queue.depth() === 0 ? true : null))
    expect([gates.length, most]).toEqual([2, 1])
    await queue.stop()
  })

  test('respects its concurrency', async () => {
    let now = 0
    let most = 0
    let done = 0
    const queue = createWorkQueue({
      log,
      concurrency: 3,
      async work() {
        now += 1
        most = Math.max(most, now)
        await new Promise((resolve) => setImmediate(resolve))
        now -= 1
        done += 1
      },
    })
    for (let i = 0; i < 40; i += 1) queue.add(`key${i}`)
    await eventually('all are done', () => (done === 40 ? true : null))
    expect(most).toBe(3)
    await queue.stop()
  })

  test('keeps workers for other groups, however many keys of one group are pending or hang', async () => {
    const began: string[] = []
    const gates: Array<() => void> = []
    const queue = createWorkQueue({
      ...{ log, concurrency: 8, groups: { of: (key: string) => key.slice(0, 1), concurrency: 2 } },
      async work(key) {
        began.push(key)
        if (key.startsWith('a')) await new Promise<void>((resolve) => gates.push(resolve))
      },
    })
    for (let i = 0; i < 100; i += 1) queue.add(`a${i}`)
    for (const key of ['b0', 'c0', 'b1']) queue.add(key)
    await eventually('the others are done', () => (began.length === 5 ? true : null))
    expect([...began].sort()).toEqual(['a0', 'a1', 'b0', 'b1', 'c0'])
    for (let i = 0; i < 100; i += 1) {
      await eventually(`key ${i} began`, () => (gates.length > i ? true : null))
      gates[i]?.()
    }
    await eventually('it is empty', () => (queue.depth() === 0 ? true : null))
    expect(began).toHaveLength(103)
    await queue.stop()
  })

  test('retries a failed key with growing delays, and resets them on success', async () => {
    const at: number[] = []
    const queue = createWorkQueue({
      log,
      random: () => 0.5,
      async work() {
        at.push(performance.now())
        if (at.length < 5) throw new Error('not yet')
      },
    })
    queue.add('a')
    await eventually('it succeeds', () => (at.length === 5 ? true : null))
    const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0))
    expect(gaps[3]).toBeGreaterThanOrEqual(35)
    expect(gaps[0]).toBeGreaterThanOrEqual(4)
    await queue.stop()
  })

  test('accepts no key after stop, and waits for running work', async () => {
    const begun = Promise.withResolvers<void>()
    let isDone = false
    let runs = 0
    const queue = createWorkQueue({
      log,
      async work() {
        runs += 1
        await begun.promise
        isDone = true
      },
    })
    queue.add('a')
    await eventually('it began', () => (runs === 1 ? true : null))
    const stopped = queue.stop()
    queue.add('b')
    queue.addAfter('c', 0)
    begun.resolve()
    await stopped
    expect([isDone, runs]).toEqual([true, 1])
  })
})
