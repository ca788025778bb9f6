import { expect, test } from 'vitest'
import { BlockPool, ByteQueue } from '../../../sidecar/collections/byte-queue.ts'

const TEXTS = [
  '{"a":1}',
  '{"path":"/é/☃/😀"}',
  `{"long":"${'é'.repeat(9_000)}"}`,
  `"${'x'.repeat(70_000)}"`,
  '',
]
const textOf = (n: number): string => `${n}:${TEXTS[n % TEXTS.length]}`
const numberOf = (item: Buffer): number => Number.parseInt(item.toString('latin1', 0, 10), 10)
const textsOf = (queue: ByteQueue): string[] => [...queue].map(String)

/** Deterministic numbers below `bound`. */
function numbers(seed: number): (bound: number) => number {
  let state = seed
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state % bound
  }
}

test.each([1, 2, 3])('a queue behaves like a list of strings while items come and go (seed %i)', (seed) => {
  const next = numbers(seed)
  const queue = new ByteQueue()
  let expected: string[] = []
  for (let n = 0; n < 3_000; n++) {
    queue.push(Buffer.from(textOf(n)))
    expected.push(textOf(n))
    if (next(4) > 0) {
      if (next(3) === 0) {
        queue.shift()
        expected.shift()
      }
      continue
    }
    const max = next(8)
    const modulus = 1 + next(3)
    const gone = expected.filter((text) => Number.parseInt(text, 10) % modulus === 0).slice(0, max)
    expect(queue.remove(max, (item) => numberOf(item) % modulus === 0)).toBe(gone.length)
    expected = expected.filter((text) => !gone.includes(text))
    expect(queue.size).toBe(expected.length)
    if (n % 20 === 0) expect(textsOf(queue)).toEqual(expected)
  }
  expect(textsOf(queue)).toEqual(expected)
  queue.clear()
  expect([queue.size, textsOf(queue)]).toEqual([0, []])
  queue.push(Buffer.from('again'))
  expect(textsOf(queue)).toEqual(['again'])
})

test('items in the middle can be removed, and the others stay valid', () => {
  const queue = new ByteQueue()
  for (let n = 0; n < 6; n++) queue.push(Buffer.from(`${n}`))
  const [first, , third] = [...queue]
  expect(queue.remove(6, (item) => ['1', '4'].includes(String(item)))).toBe(2)
  expect(textsOf(queue)).toEqual(['0', '2', '3', '5'])
  expect([String(first), String(third)]).toEqual(['0', '2'])
  queue.shift()
  expect(textsOf(queue)).toEqual(['2', '3', '5'])
})

test('blocks are used again, also by another queue of the pool', () => {
  const pool = new BlockPool()
  const blocks = new Set<ArrayBufferLike>()
  for (const queue of [new ByteQueue(pool), new ByteQueue(pool)]) {
    for (let n = 0; n < 10_000; n++) {
      queue.push(Buffer.alloc(1_400))
      if (queue.size > 500) queue.shift()
    }
    for (const item of queue) blocks.add(item.buffer)
    queue.clear()
  }
  expect(blocks.size).toBeLessThan(15)
})

test('an empty queue has nothing to remove', () => {
  const queue = new ByteQueue()
  queue.shift()
  queue.clear()
  expect([queue.size, queue.remove(3, () => true), textsOf(queue)]).toEqual([0, 0, []])
})
