import { describe, expect, test } from 'vitest'
import { boundHeaders } from '../../../../core/connectors/binding/bound-headers.ts'

const UUID = '3f2b8f0e-6f0c-4d5a-9b1e-0a1b2c3d4e5f'

type Field = readonly [name: string, value: string]
const bound = (type: string, ...fields: readonly Field[]) => boundHeaders(type, fields.flat())

describe('an idempotency key', () => {
  test.each([
    ['payments', `stripe-node-retry-${UUID}`],
    ['llm_a', `stainless-node-retry-${UUID}`],
    ['llm_b', `stainless-python-retry-${UUID}`],
  ])('that an SDK made for %s is not bound: %s', (type, key) => {
    expect(bound(type, ['Idempotency-Key', key])).toEqual([])
  })

  test.each([
    ['an order', 'order-1'],
    ['a word of its own for the language', `stripe-mallory-retry-${UUID}`],
    ['digits that are no random UUID', 'stripe-node-retry-deadbeef-dead-beef-dead-beefdeadbeef'],
    ['capital letters', `stripe-node-retry-${UUID.toUpperCase()}`],
    ['something behind it', `stripe-node-retry-${UUID}-order-1`],
    ['another client before it', `order-stripe-node-retry-${UUID}`],
    ['two keys in one', `stripe-node-retry-${UUID}, order-1`],
  ])('that is %s is bound', (_what, value) => {
    expect(bound('payments', ['Idempotency-Key', value])).toEqual([{ name: 'idempotency-key', value }])
  })

  test.each([
    [`stripe-node-retry-${UUID}`, 'order-1'],
    ['order-1', `stripe-node-retry-${UUID}`],
    [`stripe-node-retry-${UUID}`, `stripe-node-retry-${UUID}`],
  ])('is bound whole if the field occurs twice: %s, %s', (...values) => {
    const fields = values.map((value): Field => ['Idempotency-Key', value])
    expect(bound('payments', ...fields)).toEqual(values.map((value) => ({ name: 'idempotency-key', value })))
  })
})

describe('baggage', () => {
  test('is bound without the members of the error tracker', () => {
    const fields: readonly Field[] = [['Baggage', 'sentry-trace_id=1,tenant=alice, sentry-release=2']]
    expect(bound('payments', ...fields)).toEqual([{ name: 'baggage', value: 'tenant=alice' }])
  })

  test('is bound whole if a quoted text could contain a member', () => {
    const value = 'tenant="a, sentry-x=mallory"'
    expect(bound('payments', ['Baggage', value])).toEqual([{ name: 'baggage', value }])
  })
})
