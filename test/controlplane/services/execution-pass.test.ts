import { describe, expect, test } from 'vitest'
import { passOf } from '../../../controlplane/services/execution-pass.ts'

const REQUEST = {
  agent: 'builder',
  method: 'POST',
  host: 'api.stripe.com',
  path: '/v1/refunds',
  headers: [],
  body_sha256: 'a'.repeat(64),
}

describe('the pass of an execution', () => {
  test('is for the header fields that the approval card shows, too', () => {
    const pass = passOf(REQUEST)
    expect(passOf({ ...REQUEST })).toBe(pass)
    expect(passOf({ ...REQUEST, headers: [{ name: 'stripe-account', value: 'acct_1' }] })).not.toBe(pass)
  })
})
