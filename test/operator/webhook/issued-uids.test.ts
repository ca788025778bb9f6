import { expect, it } from 'vitest'
import { PROXY_UIDS } from '../../../core/capture/pod-contract.ts'
import { createIssuedUids } from '../../../operator/webhook/issued-uids.ts'

it('recognises issued uids for 30 s, and no other uid', () => {
  let now = 0
  const uids = createIssuedUids(() => now)
  const given = uids.fresh()
  expect(given).toBeGreaterThanOrEqual(PROXY_UIDS.first)
  expect(given).toBeLessThanOrEqual(PROXY_UIDS.last)
  expect(uids.isIssued(given)).toBe(true)
  expect(uids.isIssued(given === PROXY_UIDS.first ? given + 1 : given - 1)).toBe(false)
  now = 30_001
  expect(uids.isIssued(given)).toBe(false)
})

it('issues a different uid for every pod', () => {
  const uids = createIssuedUids(() => 0)
  expect(new Set(Array.from({ length: 100 }, uids.fresh)).size).toBeGreaterThan(95)
})
