import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { OrderRelay } from '../../../controlplane/sync/orders/relay.ts'
import { createTestLog } from '../../sidecar/control/test-log.ts'

test('polls do not add up while the database is slow', async () => {
  const open: Array<() => void> = []
  let poll = (_payload: string): void => undefined
  const db = {
    isPolling: true,
    query: () =>
      new Promise((resolve) => {
        open.push(() => resolve({ rows: [], rowCount: 0 }))
      }),
    async listen(_channel: string, onNotify: (payload: string) => void) {
      poll = onNotify
      return { [Symbol.asyncDispose]: async () => undefined }
    },
  }
  const hub = {
    isHere: () => true,
    connected: () => new Set(['gw_1']),
    orders: { waiting: () => [], processOf: () => undefined },
  }
  await using _relay = await OrderRelay.start({ db, hub, log: createTestLog() } as never)
  for (let n = 0; n < 10; n += 1) poll('')
  await turn()
  expect(open).toHaveLength(1)
  open.shift()?.()
  await turn()
  expect(open).toHaveLength(1)
  open.shift()?.()
  await turn()
  expect(open).toHaveLength(0)
})
