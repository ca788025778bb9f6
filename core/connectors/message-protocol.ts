import type { Action } from '../action/action.ts'
import type { CanonicalRequest, Refusal } from '../request/canonical.ts'
import type { Sliced } from '../sliced.ts'
import type { ConnectorConfig } from './connector.ts'

/** Protocol of a provider's WebSocket on which each client message is a separate request. */
export type MessageProtocol = {
  /** Returns the possible actions of messages on a WebSocket at this address; null at other addresses. */
  actions(request: CanonicalRequest, config: ConnectorConfig): readonly Action[] | null
  /** Reads one client message. Yields between slices of the work. */
  read(bytes: Uint8Array): Sliced<Message | Refusal>
  /** Reads the beginning of one server message. The traffic record uses the result; decisions never use it. */
  event(head: string): MessageEvent
}

export type Message =
  /**
   * `body`: the body of the equivalent HTTP request. `streamId`: the stream id (`stream_id` of the OpenAI Responses
   * API) that correlates response events with this message; null when the message has none.
   */
  | { readonly kind: 'request'; readonly body: Uint8Array; readonly streamId: string | null }
  /** A message that acknowledges a response of the server and requests nothing. */
  | { readonly kind: 'acknowledgement' }

export type MessageEvent = {
  readonly streamId: string | null
  /** True for the last event of a response to one message. */
  readonly isEnd: boolean
  /** The HTTP status of an error; null for every other event. */
  readonly errorStatus: number | null
}
