import type { MessageEvent } from '../../core/connectors/message-protocol.ts'
import { errorTypeOf, type Journaled, type Sent, setAnswered, setSent } from '../pipeline/phases.ts'
import type { MessageReply } from './message-exchange.ts'

type Flight = {
  readonly exchange: Sent
  readonly reply: MessageReply
  readonly end: () => void
  readonly fail: (error: Error) => void
}

/** Messages that were sent upstream and whose responses have not ended, oldest first. */
export class InFlightMessages {
  readonly #monotonicMs: () => number
  readonly #flights: Flight[] = []
  /** Number of complete responses. */
  ended = 0

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
  }

  /** Adds a message. The promise resolves at the end of the response, and rejects when there is no response. */
  add(exchange: Journaled, reply: MessageReply): Promise<undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    const { signal } = exchange.abort
    const onAbort = () => {
      this.#remove(flight)
      exchange.outcome.note ??= 'cut'
      if (!reply.isStarted) reply.stream(0, [], false)
      resolve(undefined)
    }
    const settle = (then: () => void) => () => {
      this.#remove(flight)
      signal.removeEventListener('abort', onAbort)
      then()
    }
    const flight: Flight = {
      exchange: setSent(exchange, this.#monotonicMs()),
      reply,
      end: settle(() => resolve(undefined)),
      fail: (error) => settle(() => reject(error))(),
    }
    signal.addEventListener('abort', onAbort, { once: true })
    this.#flights.push(flight)
    return promise
  }

  /** Assigns a response event to its message. An event whose stream id is unknown is assigned to the oldest message. */
  event({ streamId, isEnd, errorStatus }: MessageEvent, head: string, size: number): void {
    const flight =
      this.#flights.find(({ exchange }) => exchange.channel?.streamId === streamId) ?? this.#flights[0]
    if (flight === undefined) return
    const { exchange, reply } = flight
    this.#begin(flight, errorStatus ?? 200)
    if (errorStatus !== null) exchange.outcome.errorType = errorTypeOf(errorStatus)
    reply.count(size)
    exchange.onAnswerMessage?.(head)
    if (!isEnd) return
    this.ended++
    flight.end()
  }

  /** Aborts messages with a partial response. Fails the other messages with `error`. */
  failAll(error: Error): void {
    for (const flight of [...this.#flights]) {
      const { outcome } = flight.exchange
      if (!flight.reply.isStarted) {
        flight.fail(error)
        continue
      }
      outcome.errorType = 'connect'
      outcome.note ??= 'cut'
      flight.end()
    }
  }

  #begin({ exchange, reply }: Flight, status: number): void {
    if (!reply.isStarted) {
      setAnswered(exchange, status, this.#monotonicMs())
      reply.stream(status, [], true)
    }
    exchange.outcome.status = status
  }

  #remove(flight: Flight): void {
    const at = this.#flights.indexOf(flight)
    if (at !== -1) this.#flights.splice(at, 1)
  }
}
