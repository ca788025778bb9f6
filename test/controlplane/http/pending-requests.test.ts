import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createPendingRequests } from '../../../controlplane/http/pending-requests.ts'

function socket() {
  const state = { destroyed: false, destroy: () => void Object.assign(state, { destroyed: true }) }
  return state as unknown as Socket
}
const NETWORK = '198.51.100.7'

/** Begins requests of one connection until none is taken any more. */
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
      expect(error).toMatchObject({ code: 'not_ready' })
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
  // Other networks have what they had.
  expect(flood(pending, socket(), 100, '203.0.113.9')).toBe(100)
})

test('an authenticated connection of that network pipelines as it likes, and its requests count no longer', () => {
  const pending = createPendingRequests()
  const honest = socket()
  pending.begin(honest, NETWORK)
  pending.end(honest, true)
  for (let at = 0; at < 20; at++) flood(pending, socket(), 100)
  expect(flood(pending, honest, 5_000)).toBe(5_000)
  for (let at = 0; at < 5_000; at++) pending.end(honest, true)
})

test('requests that were answered give their places back, whatever became of their connections', () => {
  const pending = createPendingRequests()
  for (let round = 0; round < 5; round++) {
    const sockets = Array.from({ length: 10 }, socket)
    for (const one of sockets) expect(flood(pending, one, 100)).toBe(100)
    for (const one of sockets) {
      one.destroy()
      for (let at = 0; at < 100; at++) pending.end(one, false)
    }
  }
})

test('behind a proxy the networks of one connection count apart', () => {
  const pending = createPendingRequests()
  for (let at = 0; at < 20; at++) flood(pending, socket(), 100)
  const proxy = socket()
  expect(flood(pending, proxy, 50)).toBe(1)
  expect(flood(pending, proxy, 50, '203.0.113.9')).toBe(50)
  expect(proxy.destroyed).toBe(false)
})
