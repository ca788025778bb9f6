import { ChaperoneError } from '../../../core/errors.ts'
import type { DownMessage, ResultBody } from '../../../core/wire/gateway/sync.ts'

/** An execution order for a gateway. The decision token of the order is spent before the order is sent. */
export type Order = Omit<Extract<DownMessage, { type: 'execute' }>, 'type'>

const TIMEOUT_MS = 30_000

/**
 * Tracks execution orders until their results arrive. When no result arrives within 30 s, the outcome of the order is
 * unknown. An order is never sent twice.
 */
export type OrderBook = {
  /**
   * Resolves with the result from the process to which the order was sent. Rejects with `upstream_timeout` after 30 s.
   */
  wait(orderId: string, processId: string): Promise<ResultBody>
  /**
   * Settles a pending order with its result. Returns false when the order is not pending, or another process has the
   * order.
   */
  settle(result: ResultBody, processId: string): boolean
  /** Returns the id of the process that executes the order; undefined when the order is not pending at this replica. */
  processOf(orderId: string): string | undefined
  /** Returns the ids of the execution orders that are pending at this replica. */
  waiting(): readonly string[]
  close(): void
}

type Waiting = {
  processId: string
  resolve(result: ResultBody): void
  reject(error: Error): void
  timer: NodeJS.Timeout
}

export function createOrderBook(): OrderBook {
  const waiting = new Map<string, Waiting>()
  const take = (orderId: string): Waiting | undefined => {
    const entry = waiting.get(orderId)
    clearTimeout(entry?.timer)
    waiting.delete(orderId)
    return entry
  }
  const fail = (orderId: string, detail: string) =>
    take(orderId)?.reject(new ChaperoneError('upstream_timeout', { detail }))
  return {
    wait(orderId, processId) {
      const { promise, resolve, reject } = Promise.withResolvers<ResultBody>()
      const expire = () =>
        fail(orderId, 'the gateway did not answer within 30 s, so the result of the action is unknown')
      waiting.set(orderId, { processId, resolve, reject, timer: setTimeout(expire, TIMEOUT_MS) })
      return promise
    },
    settle(result, processId) {
      const isExpected = waiting.get(result.order_id)?.processId === processId
      const entry = isExpected ? take(result.order_id) : undefined
      entry?.resolve(result)
      return entry !== undefined
    },
    processOf: (orderId) => waiting.get(orderId)?.processId,
    waiting: () => [...waiting.keys()],
    close() {
      for (const orderId of [...waiting.keys()])
        fail(orderId, 'the control plane stopped, so the result of the action is unknown')
    },
  }
}
