import { once } from 'node:events'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createPendingRequests } from '../../../controlplane/http/pending-requests.ts'
import { ChaperoneError } from '../../../core/errors.ts'

const socket = () => new Socket()
const NETWORK = '198.51.100.7'

/** Begins requests of one connection until the limit. */
function flood(
  pending: ReturnType<typeof createPendingRequests>,
  of: Socket,
  count: number,
  network = NETWORK,
): number {
  let begun = 0
  for (let at = 0; at < count; at++) {
    try {
      if (pending.begin(of, network)) begun++
    } catch (error) {
      if (!(error instanceof ChaperoneError) || error.code !== 'not_ready') throw error
    }
  }
  return begun
}

test('2,000 connections of one network have few pending requests together, and each may have one', () => {
  const pending = createPendingRequests()
  const sockets = Array.from({ length: 2_000 }, socket)
  const begun = sockets.map((one) => flood(pending, one, 100))
  expect(Math.min(...begun)).toBe(1)
  expect(begun.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(3_000)
  // Other networks are not affected.
  expect(flood(pending, socket(), 100, '203.0.113.9')).toBe(100)
})

test('the requests of an authenticated connection of that network do not count for it', () => {
  const pending = createPendingRequests()
  const honest = socket()
  pending.begin(honest, NETWORK)
  pending.authenticated(honest)
  pending.answered(honest)
  for (let at = 0; at < 20; at++) flood(pending, socket(), 100)
  for (let round = 0; round < 50; round++) {
    expect(flood(pending, honest, 100)).toBe(100)
    for (let at = 0; at < 100; at++) pending.answered(honest)
  }
  expect(flood(pending, honest, 5_000)).toBe(100)
  expect(honest.destroyed).toBe(true)
})

test('requests that were sent before the connection authenticated no longer count', () => {
  const pending = createPendingRequests()
  for (let at = 0; at < 20; at++) {
    const one = socket()
    expect(flood(pending, one, 100)).toBe(100)
    pending.authenticated(one)
  }
})

test('answered requests and those of closed connections no longer count', async () => {
  const pending = createPendingRequests()
  for (let round = 0; round < 5; round++) {
    const sockets = Array.from({ length: 10 }, socket)
    for (const one of sockets) expect(flood(pending, one, 100)).toBe(100)
    const [closed, open] = [sockets.slice(0, 5), sockets.slice(5)]
    for (const one of open) for (let at = 0; at < 100; at++) pending.answered(one)
    await Promise.all(closed.map((one) => once(one.destroy(), 'close')))
    // Some responses end after their connection.
    for (const one of closed) for (let at = 0; at < 50; at++) pending.answered(one)
  }
})

test('behind a proxy the networks of one connection count separately', () => {
  const pending = createPendingRequests()
  for (let at = 0; at < 20; at++) flood(pending, socket(), 100)
  const proxy = socket()
  expect(flood(pending, proxy, 50)).toBe(1)
  expect(flood(pending, proxy, 50, '203.0.113.9')).toBe(50)
  expect(proxy.destroyed).toBe(false)
})
