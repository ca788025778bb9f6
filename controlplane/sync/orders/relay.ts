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

export type OrderRelayDeps = {
  readonly db: Db
  readonly log: Logger
  readonly hub: Pick<Hub, 'isHere' | 'connected' | 'execute' | 'settle' | 'orders'>
}

/**
 * Milliseconds within which another replica must report that the gateway is connected, or take the offered execution
 * order.
 */
const OFFER_MS = 1_000

type Waiting = { settle(result: ResultBody | null): void; fail(error: unknown): void }

/** Sends execution orders to gateways at any replica, and delivers results that arrive at any replica. */
export class OrderRelay implements AsyncDisposable {
  readonly #db: Db
  readonly #hub: OrderRelayDeps['hub']
  readonly #log: Logger
  /** Execution orders that this replica offered to the other replicas, by their id. */
  readonly #offered = new Map<string, Waiting>()
  readonly #inquiries: Inquiries
  #listening: AsyncDisposable | null = null

  /**
   * Takes the offered orders of gateways that are connected to this replica, and fetches the results of all pending
   * execution orders. Called after a reconnect, because notifications were lost in the meantime, and at each poll.
   * Only one run is in progress at a time, because polls would otherwise accumulate while the database is slow.
   */
  readonly #takeOffersAndResults = createSerial(async () => {
    const hub = this.#hub
    for (const { id, gatewayId } of await listOffers(this.#db, [...hub.connected()].filter(hub.isHere)))
      void this.#takeOffer(id, gatewayId).catch(this.#failed)
    for (const waiting of [...this.#offered.keys(), ...hub.orders.waiting()]) await this.#fetchResult(waiting)
  })

  private constructor({ db, hub, log }: OrderRelayDeps) {
    this.#db = db
    this.#hub = hub
    this.#log = log
    this.#inquiries = new Inquiries(db)
  }

  static async start(deps: OrderRelayDeps): Promise<OrderRelay> {
    const relay = new OrderRelay(deps)
    relay.#listening = await deps.db.listen(ORDERS_CHANNEL, (payload) => relay.#onNotify(payload))
    return relay
  }

  /** Returns whether a process of the gateway is connected to any replica. */
  async isConnected(gatewayId: string): Promise<boolean> {
    if (this.#hub.isHere(gatewayId)) return true
    // Without LISTEN, other replicas do not receive an inquiry. This replica uses the process registry instead,
    // which is at most a few seconds old.
    return this.#db.isPolling ? this.#hub.connected().has(gatewayId) : this.#inquiries.isConnected(gatewayId)
  }

  /**
   * Sends an execution order to a gateway, at any replica. Resolves to null when no replica has a stream of the
   * gateway; nothing was sent in this case. Rejects with `upstream_timeout` when no result arrives.
   */
  async execute(gatewayId: string, order: Order): Promise<ResultBody | null> {
    const result = this.#hub.execute(gatewayId, order)
    return result === null ? this.#executeElsewhere(gatewayId, order) : result
  }

  /**
   * Delivers the result of an execution order that a gateway sent to this replica. Returns false when another replica
   * sent the order; the result is then stored for that replica.
   */
  settle(result: ResultBody, processId: string): boolean {
    if (this.#hub.settle(result, processId)) return true
    putResult(this.#db, result, processId).catch(this.#failed)
    return false
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const waiting of this.#offered.values()) waiting.fail(timedOut())
    this.#inquiries[Symbol.dispose]()
    await this.#listening?.[Symbol.asyncDispose]()
  }

  #onNotify(payload: string): void {
    const [kind = '', id = '', gatewayId = ''] = payload.split(' ')
    this.#handle(kind, id, gatewayId).catch(this.#failed)
  }

  /** Handles a message of another replica; an empty `kind` means that messages were lost. */
  async #handle(kind: string, id: string, gatewayId: string): Promise<void> {
    switch (kind) {
      case 'ask':
        if (this.#hub.isHere(gatewayId)) await sendHaveGateway(this.#db, id)
        return
      case 'have':
        this.#inquiries.confirm(id)
        return
      case 'order':
        return this.#takeOffer(id, gatewayId)
      case 'result':
        return this.#fetchResult(id)
      case '':
        return this.#takeOffersAndResults()
      default:
    }
  }

  /** Takes an execution order that another replica offers, if its gateway is connected to this replica. */
  async #takeOffer(orderId: string, gatewayId: string): Promise<void> {
    // A replica does not take its own offer, because none of its processes can execute the order.
    if (!this.#hub.isHere(gatewayId) || this.#offered.has(orderId)) return
    const order = await takeOrder(this.#db, orderId)
    if (order === undefined) return
    await putResult(this.#db, await executeHere(this.#hub, gatewayId, order), PASSED_ON)
  }

  async #fetchResult(orderId: string): Promise<void> {
    const processId = this.#hub.orders.processOf(orderId)
    // Ignores the result of an execution order that this replica neither sent to a process nor offered to other
    // replicas. The replica that sent the order to a process takes the result of the process. The replica that offered
    // the order takes the result that the executing replica stored for it (`PASSED_ON`).
    if (processId === undefined && !this.#offered.has(orderId)) return
    const result = await takeResult(this.#db, orderId, processId ?? PASSED_ON)
    if (result === undefined) return
    if (processId === undefined) this.#offered.get(orderId)?.settle(result)
    else this.#hub.settle(result, processId)
  }

  async #executeElsewhere(gatewayId: string, order: Order): Promise<ResultBody | null> {
    const { promise, resolve, reject } = Promise.withResolvers<ResultBody | null>()
    this.#offered.set(order.order_id, { settle: resolve, fail: reject })
    const offer = setTimeout(() => {
      withdrawOrder(this.#db, order.order_id).then((isWithdrawn) => isWithdrawn && resolve(null), reject)
    }, OFFER_MS)
    const end = setTimeout(() => reject(timedOut()), ORDER_MS)
    try {
      await offerOrder(this.#db, gatewayId, order)
      return await promise
    } finally {
      clearTimeout(offer)
      clearTimeout(end)
      this.#offered.delete(order.order_id)
    }
  }

  readonly #failed = (error: unknown): void =>
    this.#log.error(
      { err: error },
      'an action to execute, or its result, could not be passed to another replica; if no result arrives within 30 s, the caller gets an error',
    )
}

/** Asks the other replicas whether a gateway is connected to one of them. */
class Inquiries implements Disposable {
  readonly #db: Db
  readonly #pending = new Map<string, (isConnected: boolean) => void>()

  constructor(db: Db) {
    this.#db = db
  }

  async isConnected(gatewayId: string): Promise<boolean> {
    const askId = newId('request')
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#pending.set(askId, resolve)
    const end = setTimeout(() => resolve(false), OFFER_MS)
    try {
      await askForGateway(this.#db, askId, gatewayId)
      return await promise
    } finally {
      clearTimeout(end)
      this.#pending.delete(askId)
    }
  }

  confirm(askId: string): void {
    this.#pending.get(askId)?.(true)
  }

  /** Answers all inquiries with false. */
  [Symbol.dispose](): void {
    for (const answer of this.#pending.values()) answer(false)
  }
}

/**
 * Executes an execution order on a gateway that is connected to this replica. Returns a result even after an error,
 * because the replica that offered the order waits for a result.
 */
async function executeHere(hub: OrderRelayDeps['hub'], gatewayId: string, order: Order): Promise<ResultBody> {
  const { order_id, action_request_id } = order
  const failure = { order_id, action_request_id, ok: false, status: null, result: null }
  try {
    const result = await hub.execute(gatewayId, order)
    return (
      result ?? {
        ...failure,
        error: 'the gateway disconnected before the action was sent to it, so the action was not executed',
      }
    )
  } catch (error) {
    return { ...failure, error: error instanceof Error ? error.message : String(error) }
  }
}

function timedOut(): ChaperoneError {
  return new ChaperoneError('upstream_timeout', {
    detail: 'the gateway did not answer within 30 s, so the result of the action is unknown',
  })
}
