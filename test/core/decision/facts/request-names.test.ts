import { describe, expect, test } from 'vitest'
import { compileCondition } from '../../../../core/decision/conditions/condition.ts'

function problemOf(text: string): string | null {
  try {
    compileCondition(text, { rule: 'r', index: 0 })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

describe('a condition on request.headers', () => {
  test.each([
    ['request.headers["Stripe-Account"] == "a"', 'stripe-account'],
    ['"Stripe-Account" in request.headers', 'stripe-account'],
    ['request.headers.authorization == "a"', 'credential'],
    ['"x-api-key" in request.headers', 'credential'],
    ['request.headers.accept == 5', 'never equal to a number'],
    ['request.headres.accept == "a"', 'headers'],
    ['request.headers == "a"', 'never equal to a string'],
  ])('%s is refused: %s', (text, part) => {
    expect(problemOf(text)).toContain(part)
  })

  test.each([
    'request.headers["stripe-account"] == "a"',
    '"stripe-account" in request.headers',
    'has(request.body.amount) && request.body.amount > 5',
    'request.headers.exists(h, h.startsWith("x-"))',
  ])('%s compiles', (text) => {
    expect(problemOf(text)).toBeNull()
  })
})
