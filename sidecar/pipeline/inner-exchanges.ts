import type { Sliced } from '../../core/sliced.ts'
import type { MessageRoom } from './body/body-reader.ts'
import type { Exchange } from './exchange.ts'
import type { Journaled, Recorded } from './phases.ts'

/** An open WebSocket connection, as the exchange of one of its messages uses it. */
export type MessageChannel = {
  /** Type of the connector that owns the WebSocket. */
  readonly connectorType: string
  /** Stream id (`stream_id`) of the response events to this message; null when the events have none. */
  readonly streamId: string | null
  /** Sends the message upstream. Resolves after its response; rejects with a ChaperoneError if it was not sent. */
  forward(exchange: Journaled): Promise<undefined>
}

export type InnerExchanges = {
  run(exchange: Exchange): Promise<Recorded>
  newRequestId(): string
  readonly clock: { nowMs(): number; monotonicMs(): number }
  /** Reserves bytes for messages in the budget of request bodies. */
  readonly room: MessageRoom
  /** Runs long work for the exchange in slices, so that other requests are served in between. */
  runSliced<T>(exchange: Exchange, work: Sliced<T>): Promise<T>
}
