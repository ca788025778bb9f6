import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { type Order, OrderBook } from '../../../controlplane/sync/orders/orders.ts'
import { OrderRelay } from '../../../controlplane/sync/orders/relay.ts'
import { listOffers, offerOrder, takeOrder } from '../../../controlplane/sync/orders/store.ts'
import type { ResultBody } from '../../../core/wire/gateway/sync.ts'
import { createTestLog } from '../../sidecar/control/test-log.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let postgres: TestPostgres
let db: Db
beforeAll(async () => {
  postgres = await workerPostgres()
  const { url } = await postgres.createMigratedDatabase()
  db = await openDb({ url, log: createTestLog() as never })
  await migrate(db)
})
afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})

/** A replica as far as orders go: its real order book, and gateways that are said to be connected to it. */
async function replica(...gateways: string[]): Promise<{ relay: OrderRelay; sent: Order[] }> {
  const book = new OrderBook()
  const sent: Order[] = []
  const hub = {
    isHere: (gatewayId: string) => gateways.includes(gatewayId),
    connected: () => new Set(gateways),
    settle: book.settle.bind(book),
    orders: book,
    execute(gatewayId: string, order: Order) {
      if (!gateways.includes(gatewayId)) return null
      sent.push(order)
      return book.wait(order.order_id, 'proc_1')
    },
  }
  const relay = await OrderRelay.start({ db, hub, log: createTestLog() as never })
  relays.push(relay)
  return { relay, sent }
}
const relays: OrderRelay[] = []
let number = 0
let order: Order
beforeEach(() => {
  order = { order_id: `ord_${++number}`, action_request_id: 'act_1', agent: 'a', action_spec: { type: 'x' } }
})
afterEach(async () => {
  for (const relay of relays.splice(0)) await relay[Symbol.asyncDispose]()
})

function resultOf(given: Order): ResultBody {
  return {
    order_id: given.order_id,
    action_request_id: 'act_1',
    ok: true,
    status: 201,
    result: { n: 1 },
    error: null,
  }
}

async function until(check: () => boolean): Promise<void> {
  while (!check()) await new Promise((resolve) => setImmediate(resolve))
}

test('an order reaches the gateway through the replica that has it, exactly once', async () => {
  const [asked, ...others] = [await replica(), await replica('gw_1'), await replica('gw_1')]
  expect(await asked.relay.isConnected('gw_1')).toBe(true)
  const done = asked.relay.execute('gw_1', order)
  await until(() => others.some(({ sent }) => sent.length > 0))
  others.find(({ sent }) => sent.length > 0)?.relay.settle(resultOf(order), 'proc_1')
  expect(await done).toEqual(resultOf(order))
  expect(others.flatMap(({ sent }) => sent)).toEqual([order])
  expect(
    (await db.query('select 1 from execution_results where order_id = $1', [order.order_id])).rowCount,
  ).toBe(0)
})

test('a result that arrives at another replica reaches the one that waits', async () => {
  const [here, there] = [await replica('gw_1'), await replica('gw_1')]
  const done = here.relay.execute('gw_1', order)
  expect(here.sent).toEqual([order])
  expect(there.relay.settle(resultOf(order), 'proc_1')).toBe(false)
  expect(await done).toEqual(resultOf(order))
  expect(there.sent).toEqual([])
})

test('an order for a gateway without a stream fails, and is never executed later', async () => {
  const [asked, other] = [await replica(), await replica('gw_2')]
  expect(await asked.relay.isConnected('gw_1')).toBe(false)
  expect(await asked.relay.execute('gw_1', order)).toBeNull()
  expect((await db.query('select 1 from execution_orders where id = $1', [order.order_id])).rowCount).toBe(0)
  expect(other.sent).toEqual([])
})

test('an order whose replica crashed is not executed by a gateway that connects after its time limit', async () => {
  await offerOrder(db, 'gw_1', order)
  await db.query("update execution_orders set created_at = now() - interval '33 seconds'")
  const late = await replica('gw_1')
  expect(await listOffers(db, ['gw_1'])).toEqual([])
  expect(await takeOrder(db, order.order_id)).toBeUndefined()
  expect(late.sent).toEqual([])
})

test.each(['proc_2', 'proc_x', 'ord_1'])(
  'a result from process %s, which did not get the order, counts nowhere',
  async (thief) => {
    const [asked, holder, third] = [await replica(), await replica('gw_1'), await replica()]
    const done = asked.relay.execute('gw_1', order)
    await until(() => holder.sent.length > 0)
    const forged = { ...resultOf(order), result: 'forged' }
    for (const { relay } of [holder, asked, third]) expect(relay.settle(forged, thief)).toBe(false)
    third.relay.settle(resultOf(order), 'proc_1')
    expect(await done).toEqual(resultOf(order))
  },
)
