import { expect, expectTypeOf, test } from 'vitest'
import type { Exchange } from '../../../sidecar/pipeline/exchange.ts'
import type { Answered, Cleared, Journaled, Recorded, Sent } from '../../../sidecar/pipeline/phases.ts'
import { LIST, MERGE, start } from './pipeline-world.ts'
import { testExchange } from './test-exchange.ts'

test('no phase stands for a later one, so that the compiler refuses a stage in the wrong place', () => {
  expectTypeOf<Cleared>().not.toExtend<Journaled>()
  expectTypeOf<Journaled>().not.toExtend<Sent>()
  expectTypeOf<Sent>().not.toExtend<Answered>()
  expectTypeOf<Answered>().toExtend<Cleared | Journaled>()
})

test('no stage and no second record takes a recorded exchange', () => {
  expectTypeOf<Recorded>().not.toExtend<Exchange>()
  expectTypeOf<Recorded['recordId']>().toEqualTypeOf<string>()
})

test('a response has a status, and the status of other exchanges may be missing', () => {
  expectTypeOf<Answered['outcome']['status']>().toEqualTypeOf<number>()
  expectTypeOf<Sent['outcome']['status']>().toEqualTypeOf<number | null>()
})

test('an allowed request is sent and answered in this order, and its record closes the intent', async () => {
  const world = await start({ permissions: [['codehost.*', 'allow']] })
  const exchange = testExchange(LIST)
  await world.run(exchange)
  const { acceptedAt, sentAt = Number.NaN, answeredAt } = exchange
  expect(exchange.reply.status).toBe(200)
  expect(sentAt).toBeGreaterThanOrEqual(acceptedAt)
  expect(answeredAt).toBeGreaterThanOrEqual(sentAt)
  expect(exchange.intent).toBeUndefined()
  expect(world.records.map(({ id }) => id)).toEqual([exchange.recordId])
})

test('a refused request is neither sent nor answered, and has a record without an intent', async () => {
  const world = await start({ permissions: [['codehost.*', 'deny']] })
  const exchange = testExchange(MERGE)
  await world.run(exchange)
  expect([exchange.sentAt, exchange.answeredAt, exchange.intent]).toEqual([undefined, undefined, undefined])
  expect(world.intents).toEqual([])
  expect(world.records.map(({ id }) => id)).toEqual([exchange.recordId])
})
