import { afterEach, expect, test, vi } from 'vitest'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { ControlClient } from '../../../sidecar/control/client/client.ts'
import { createCredentialRefresh } from '../../../sidecar/control/credential-refresh.ts'
import { createConditionWaits } from '../../../sidecar/control/snapshot/condition-waits.ts'
import { createExchangeAbort } from '../../../sidecar/pipeline/exchange-abort.ts'

afterEach(() => vi.useRealTimers())

const REFUSED = { connectorId: 'con_1', serial: 1, host: 'api.test', port: 443 }

/** A port whose control plane answers `reply`. */
function createWorld(reply: () => unknown) {
  const world = { serial: 1, nowMs: 0, isConnected: true, calls: [] as unknown[] }
  const waits = createConditionWaits()
  const client = {
    post(path: string, body: object) {
      world.calls.push([path, body])
      return Promise.resolve({ status: 200, bytes: Buffer.from(JSON.stringify(reply())) })
    },
  } as unknown as ControlClient
  const port = createCredentialRefresh({
    ...{ client: () => client, waits: () => waits, monotonicMs: () => world.nowMs },
    isConnected: () => world.isConnected,
    entryOf: () => ({ minted: { serial: world.serial, expires_at: null, error: null } }) as ConnectorEntry,
  })
  return { world, waits, port }
}

test('requests of one Connector share one refresh, which ends with the new secret', async () => {
  const { world, waits, port } = createWorld(() => ({ refreshing: true }))
  const all = [1, 2, 3].map(() => port.refresh(REFUSED))
  expect(world.calls).toEqual([['/api/gateway/credentials', { connector_id: 'con_1', serial: 1 }]])
  await new Promise((resolve) => setImmediate(resolve))
  world.serial = 2
  waits.changed()
  await Promise.all(all)
  // A request with the former secret can be sent again at once.
  expect(port.mayRefresh(REFUSED)).toBe(true)
  await port.refresh(REFUSED)
  expect(world.calls).toHaveLength(1)
})

test('an upstream that refuses every secret causes one refresh in 10 s', async () => {
  const { world, port } = createWorld(() => ({ refreshing: false }))
  expect(port.mayRefresh(REFUSED)).toBe(true)
  await port.refresh(REFUSED)
  world.nowMs = 9_999
  expect(port.mayRefresh(REFUSED)).toBe(false)
  expect(port.mayRefresh({ ...REFUSED, connectorId: 'con_2' })).toBe(true)
  world.nowMs = 10_000
  expect(port.mayRefresh(REFUSED)).toBe(true)
})

test('a new secret that the upstream refused too is not refreshed', async () => {
  const { world, port } = createWorld(() => ({ refreshing: false }))
  await port.refresh(REFUSED)
  // Sent again with the same secret, because there was no other.
  port.refusedAgain(REFUSED)
  world.nowMs = 10_000
  expect(port.mayRefresh(REFUSED)).toBe(true)
  world.serial = 2
  port.refusedAgain({ ...REFUSED, serial: 2 })
  world.nowMs = 60_000
  expect(port.mayRefresh({ ...REFUSED, serial: 2 })).toBe(false)
  await port.refresh({ ...REFUSED, serial: 2 })
  expect(world.calls).toHaveLength(1)
  world.serial = 3
  expect(port.mayRefresh({ ...REFUSED, serial: 3 })).toBe(true)
})

test.each([['an error'], [null]])('a control plane that answers %j ends the refresh', async (reply) => {
  const { port } = createWorld(() => reply)
  expect(await port.refresh(REFUSED)).toBeUndefined()
})

test('a request waits for the secret that the control plane fetches until a snapshot has it', async () => {
  const { world, waits, port } = createWorld(() => null)
  const isSettled = vi.fn(() => world.serial === 2)
  const wait = port.untilSettled(isSettled, createExchangeAbort().signal)
  waits.changed()
  world.serial = 2
  waits.changed()
  await wait
  expect(isSettled).toHaveBeenCalledTimes(3)
  waits.changed()
  expect(isSettled).toHaveBeenCalledTimes(3)
})

test('the wait ends when the client disconnects', async () => {
  const { waits, port } = createWorld(() => null)
  const abort = createExchangeAbort()
  const isSettled = vi.fn(() => false)
  const wait = port.untilSettled(isSettled, abort.signal)
  abort.abort()
  await wait
  await port.untilSettled(isSettled, abort.signal)
  waits.changed()
  expect(isSettled).toHaveBeenCalledTimes(2)
})

test('the wait ends after 5 s, and nothing waits while the control plane is not connected', async () => {
  vi.useFakeTimers()
  const { world, port } = createWorld(() => null)
  const { signal } = createExchangeAbort()
  const ended = vi.fn()
  const wait = port.untilSettled(() => false, signal).then(ended)
  await vi.advanceTimersByTimeAsync(4_999)
  expect(ended).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  await wait
  world.isConnected = false
  await port.untilSettled(() => false, signal)
})
