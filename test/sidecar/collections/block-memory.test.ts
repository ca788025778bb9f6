import { expect, test } from 'vitest'
import { BlockMemory } from '../../../sidecar/collections/block-memory.ts'

const TEXTS = ['{"a":1}', '{"path":"/é/☃/😀"}', `{"long":"${'é'.repeat(9_000)}"}`, `"${'x'.repeat(70_000)}"`]
const textOf = (n: number): string => `{"n":${n},"of":${TEXTS[n % TEXTS.length]}}`

test('copies keep their bytes while thousands of others come and go', () => {
  const memory = new BlockMemory()
  const live = new Map<number, Buffer>()
  for (let n = 0; n < 5_000; n++) {
    live.set(n, memory.copy(Buffer.from(textOf(n))))
    // The seventh of eight stays; the others are released, not in the order of their copies.
    for (const gone of [n - 30, n - 12].filter((each) => each % 8 !== 7)) {
      const copy = live.get(gone)
      if (copy === undefined || !live.delete(gone)) continue
      memory.release(copy)
    }
  }
  expect(live.size).toBeGreaterThan(600)
  expect([...live].filter(([n, copy]) => copy.toString() !== textOf(n))).toEqual([])
})

test('blocks are used again once all their copies are released', () => {
  const memory = new BlockMemory()
  const blocks = new Set<ArrayBufferLike>()
  const waiting: Buffer[] = []
  for (let n = 0; n < 20_000; n++) {
    const copy = memory.copy(Buffer.alloc(1_400))
    blocks.add(copy.buffer)
    waiting.push(copy)
    if (waiting.length > 500) memory.release(waiting.shift() ?? copy)
  }
  expect(blocks.size).toBeLessThan(15)
})

test('bytes that are not from the memory are left alone', () => {
  const memory = new BlockMemory()
  const copy = memory.copy(Buffer.from('own'))
  memory.release(Buffer.from('foreign'))
  memory.release(Buffer.from('foreign'))
  memory.copy(Buffer.from('other'))
  expect(copy.toString()).toBe('own')
})
