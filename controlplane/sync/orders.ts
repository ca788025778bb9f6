import { ChaperoneError } from '../../core/errors.ts'
import type { DownMessage, ResultBody } from '../../core/wire/gateway/sync.ts'

/** What a gateway is asked to carry out after a decision token was consumed. */
export type Order = Omit<Extract<DownMessage, { type: 'execute' }>, 'type'>

const TIMEOUT_MS = 30_000

/** Orders that wait for their result. No answer within 30 s: the result is unknown and the order is never repeated. */
export type OrderBook = {
  /** Waits for the result of the process that the order was sent to. */
  wait(orderId: string, processId: string): Promise<ResultBody>
  /** False for a result that is not waited for, or comes from another process than the order was sent to. */
  settle(result: ResultBody, processId: string): boolean
  /** The process that has the order; undefined when its result is not waited for here. */
  processOf(orderId: string): string | undefined
  /** Orders that wait here. */
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
        fail(orderId, 'the gateway did not answer within 30 s: whether it was done is unknown')
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
        fail(orderId, 'the control plane stops: the result is unknown')
    },
  }
}
