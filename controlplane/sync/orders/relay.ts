import type { Logger } from 'pino'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ResultBody } from '../../../core/wire/gateway/sync.ts'
import { newId } from '../../crypto/ids.ts'
import type { Db } from '../../db/query.ts'
import type { Hub } from '../hub.ts'
import { createSerial } from '../serial.ts'
import type { Order } from './orders.ts'
import {
  askForGateway,
  listOffers,
  ORDER_MS,
  ORDERS_CHANNEL,
  offerOrder,
  PASSED_ON,
  putResult,
  sendHaveGateway,
  takeOrder,
  takeResult,
  withdrawOrder,
} from './store.ts'

/** Sends execution orders to gateways at any replica, and delivers results that arrive at any replica. */
export type OrderRelay = AsyncDisposable & {
  /** Returns whether a process of the gateway is connected to any replica. */
  isConnected(gatewayId: string): Promise<boolean>
  /**
   * Executes an order on a gateway. Resolves to null when no replica has a stream of the gateway; nothing was sent in
   * this case. Rejects with `upstream_timeout` when no result arrives.
   */
  execute(gatewayId: string, order: Order): Promise<ResultBody | null>
  /**
   * Delivers a result that a gateway sent to this replica. Returns false when another replica sent the order; the
   * result is then stored for that replica.
   */
  settle(result: ResultBody, processId: string): boolean
}

export type OrderRelayDeps = {
  readonly db: Db
  readonly log: Logger
  readonly hub: Pick<Hub, 'isHere' | 'connected' | 'execute' | 'settle' | 'orders'>
}

/** Milliseconds within which another replica must report that the gateway is connected, or take the offered order. */
const OFFER_MS = 1_000

type Waiting = { settle(result: ResultBody | null): void; fail(error: unknown): void }

export async function createOrderRelay({ db, hub, log }: OrderRelayDeps): Promise<OrderRelay> {
  const elsewhere = new Map<string, Waiting>()
  const inquiries = createInquiries(db)
  const failed = (error: unknown) =>
    log.error({ err: error }, 'order or result could not be relayed between replicas')

  async function fetchResult(orderId: string): Promise<void> {
    const processId = hub.orders.processOf(orderId)
    // Ignores the result of an order that this replica neither sent to a process nor offered. The replica that sent
    // the order takes the result of the process. The replica that offered the order takes the result passed on to it.
    if (processId === undefined && !elsewhere.has(orderId)) return
    const result = await takeResult(db, orderId, processId ?? PASSED_ON)
    if (result === undefined) return
    if (processId === undefined) elsewhere.get(orderId)?.settle(result)
    else hub.settle(result, processId)
  }

  const servant = serving({ db, hub, isOwn: (orderId) => elsewhere.has(orderId) })

  /**
   * Takes the offered orders of gateways that are connected to this replica, and fetches the results of all pending
   * execution orders. Called after a reconnect, because notifications were lost in the meantime, and at each poll.
   * Only one run is in progress at a time, because polls would otherwise accumulate while the database is slow.
   */
  const takeOffersAndResults = createSerial(async () => {
    for (const { id, gatewayId } of await listOffers(db, [...hub.connected()].filter(hub.isHere)))
      void servant.order(id, gatewayId).catch(failed)
    for (const waiting of [...elsewhere.keys(), ...hub.orders.waiting()]) await fetchResult(waiting)
  })

  const on: Readonly<Record<string, (id: string, gatewayId: string) => Promise<void>>> = {
    ...servant,
    have: async (id) => inquiries.confirm(id),
    result: fetchResult,
    '': takeOffersAndResults,
  }

  function onNotify(payload: string): void {
    const [kind = '', id = '', gatewayId = ''] = payload.split(' ')
    on[kind]?.(id, gatewayId).catch(failed)
  }

  async function executeElsewhere(gatewayId: string, order: Order): Promise<ResultBody | null> {
    const { promise, resolve, reject } = Promise.withResolvers<ResultBody | null>()
    elsewhere.set(order.order_id, { settle: resolve, fail: reject })
    const offer = setTimeout(() => {
      withdrawOrder(db, order.order_id).then((isMine) => isMine && resolve(null), reject)
    }, OFFER_MS)
    const end = setTimeout(() => reject(timedOut()), ORDER_MS)
    try {
      await offerOrder(db, gatewayId, order)
      return await promise
    } finally {
      clearTimeout(offer)
      clearTimeout(end)
      elsewhere.delete(order.order_id)
    }
  }

  const listening = await db.listen(ORDERS_CHANNEL, onNotify)
  return {
    async isConnected(gatewayId) {
      if (hub.isHere(gatewayId)) return true
      // Without LISTEN, other replicas do not receive an inquiry. This replica uses the process registry instead,
      // which is at most a few seconds old.
      return db.isPolling ? hub.connected().has(gatewayId) : inquiries.isConnected(gatewayId)
    },
    async execute(gatewayId, order) {
      const result = hub.execute(gatewayId, order)
      return result === null ? executeElsewhere(gatewayId, order) : result
    },
    settle(result, processId) {
      if (hub.settle(result, processId)) return true
      putResult(db, result, processId).catch(failed)
      return false
    },
    async [Symbol.asyncDispose]() {
      for (const waiting of elsewhere.values()) waiting.fail(timedOut())
      inquiries.close()
      await listening[Symbol.asyncDispose]()
    },
  }
}

/** Creates the function that asks the other replicas whether a gateway is connected to one of them. */
function createInquiries(db: Db) {
  const pending = new Map<string, (isConnected: boolean) => void>()
  return {
    async isConnected(gatewayId: string): Promise<boolean> {
      const askId = newId('request')
      const { promise, resolve } = Promise.withResolvers<boolean>()
      pending.set(askId, resolve)
      const end = setTimeout(() => resolve(false), OFFER_MS)
      try {
        await askForGateway(db, askId, gatewayId)
        return await promise
      } finally {
        clearTimeout(end)
        pending.delete(askId)
      }
    },
    confirm: (askId: string) => pending.get(askId)?.(true),
    close() {
      for (const answer of pending.values()) answer(false)
    },
  }
}

/**
 * Creates the handler for messages of other replicas. The handler reports gateways that are connected to this
 * replica, and executes orders on them.
 */
function serving({
  db,
  hub,
  isOwn,
}: Pick<OrderRelayDeps, 'db' | 'hub'> & { isOwn(orderId: string): boolean }) {
  return {
    async ask(askId: string, gatewayId: string): Promise<void> {
      if (hub.isHere(gatewayId)) await sendHaveGateway(db, askId)
    },
    async order(orderId: string, gatewayId: string): Promise<void> {
      // A replica does not take its own offer (`isOwn`), because none of its processes can execute the order.
      if (!hub.isHere(gatewayId) || isOwn(orderId)) return
      const order = await takeOrder(db, orderId)
      if (order !== undefined) await putResult(db, await executeHere(hub, gatewayId, order), PASSED_ON)
    },
  }
}

/**
 * Executes the order. Returns a result even after an error, because the replica that offered the order waits for a
 * result.
 */
async function executeHere(hub: OrderRelayDeps['hub'], gatewayId: string, order: Order): Promise<ResultBody> {
  const { order_id, action_request_id } = order
  const failure = { order_id, action_request_id, ok: false, status: null, result: null }
  try {
    const result = await hub.execute(gatewayId, order)
    return result ?? { ...failure, error: 'the gateway disconnected before the order was sent' }
  } catch (error) {
    return { ...failure, error: error instanceof Error ? error.message : String(error) }
  }
}

function timedOut(): ChaperoneError {
  return new ChaperoneError('upstream_timeout', {
    detail: 'the gateway did not answer within 30 s, so the result of the action is unknown',
  })
}
