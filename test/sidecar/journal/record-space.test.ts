import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type HeldRecord, RecordSpace } from '../../../sidecar/journal/record-space.ts'

test('what is held stays as it was, whatever comes and goes around it', () => {
  const step = fc.record({
    text: fc.string({ unit: 'binary' }),
    times: fc.nat({ max: 400 }),
    leaves: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const space = new RecordSpace()
      const held: Array<{ readonly text: string; readonly record: HeldRecord }> = []
      for (const { text, times, leaves } of steps) {
        const long = text.toWellFormed().repeat(times)
        held.push({ text: long, record: space.hold(long) })
        if (leaves % 2 === 0) continue
        const [gone] = held.splice(leaves % held.length, 1)
        if (gone !== undefined) space.release(gone.record)
      }
      for (const { text, record } of held) {
        expect(record.toString()).toBe(text)
        expect(record.length).toBe(Buffer.byteLength(text))
      }
    }),
  )
})

test('blocks are used again when nobody holds anything in them', () => {
  const space = new RecordSpace()
  const json = 'x'.repeat(1_000)
  const blocks = new Set<unknown>()
  let waiting: HeldRecord[] = []
  for (let n = 0; n < 20_000; n++) {
    const record = space.hold(json)
    blocks.add(record.block)
    waiting.push(record)
    if (waiting.length < 500) continue
    for (const done of waiting) space.release(done)
    waiting = []
  }
  expect(blocks.size).toBeLessThan(40)
})
