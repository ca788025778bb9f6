import { ChaperoneError } from '../../../core/errors.ts'
import type { DownMessage, ResultBody } from '../../../core/wire/gateway/sync.ts'

/** An execution order for a gateway. The decision token of the order is spent before the order is sent. */
export type Order = Omit<Extract<DownMessage, { type: 'execute' }>, 'type'>

const TIMEOUT_MS = 30_000

type Waiting = {
  processId: string
  resolve(result: ResultBody): void
  reject(error: Error): void
  timer: NodeJS.Timeout
}

/**
 * Tracks execution orders until their results arrive. When no result arrives within 30 s, the outcome of the order is
 * unknown. An order is never sent twice.
 */
export class OrderBook {
  readonly #waiting = new Map<string, Waiting>()

  /**
   * Resolves with the result from the process to which the order was sent. Rejects with `upstream_timeout` after 30 s.
   */
  wait(orderId: string, processId: string): Promise<ResultBody> {
    const { promise, resolve, reject } = Promise.withResolvers<ResultBody>()
    const expire = () =>
      this.#fail(orderId, 'the gateway did not answer within 30 s, so the result of the action is unknown')
    this.#waiting.set(orderId, { processId, resolve, reject, timer: setTimeout(expire, TIMEOUT_MS) })
    return promise
  }

  /**
   * Settles a pending execution order with its result. Returns false when the order is not pending, or another process
   * has the order.
   */
  settle(result: ResultBody, processId: string): boolean {
    const isExpected = this.#waiting.get(result.order_id)?.processId === processId
    const entry = isExpected ? this.#take(result.order_id) : undefined
    entry?.resolve(result)
    return entry !== undefined
  }

  /**
   * Returns the id of the process that executes the execution order; undefined when the order is not pending at this
   * replica.
   */
  processOf(orderId: string): string | undefined {
    return this.#waiting.get(orderId)?.processId
  }

  /** Returns the ids of the execution orders that are pending at this replica. */
  waiting(): readonly string[] {
    return [...this.#waiting.keys()]
  }

  close(): void {
    for (const orderId of this.waiting())
      this.#fail(orderId, 'the control plane stopped, so the result of the action is unknown')
  }

  #take(orderId: string): Waiting | undefined {
    const entry = this.#waiting.get(orderId)
    clearTimeout(entry?.timer)
    this.#waiting.delete(orderId)
    return entry
  }

  #fail(orderId: string, detail: string): void {
    this.#take(orderId)?.reject(new ChaperoneError('upstream_timeout', { detail }))
  }
}
