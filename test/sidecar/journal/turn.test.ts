import { expect, test } from 'vitest'
import { Turn } from '../../../sidecar/journal/turn.ts'

test('sends the refusals of a turn after one write, also those after one that cannot be sent', async () => {
  const happened: string[] = []
  const warned: unknown[] = []
  const turn = new Turn(() => happened.push('write'), {
    warn: (facts: unknown) => warned.push(facts),
  } as never)
  const broken = new Error('the stream is gone')
  turn.afterWrite(() => happened.push('first'))
  turn.afterWrite(() => {
    throw broken
  })
  turn.afterWrite(() => happened.push('last'))
  expect(happened).toEqual([])
  await new Promise((resolve) => setImmediate(resolve))
  expect(happened).toEqual(['write', 'first', 'last'])
  expect(warned).toEqual([{ err: broken }])
})
