import type { Action } from '../action/action.ts'
import type { CanonicalRequest, Refusal } from '../request/canonical.ts'
import type { Sliced } from '../sliced.ts'
import type { ConnectorConfig } from './connector.ts'

/** A WebSocket of a provider on which each message of the client is a request of its own. */
export type MessageProtocol = {
  /** The actions that messages on a WebSocket at this address may be; null at every other address. */
  actions(request: CanonicalRequest, config: ConnectorConfig): readonly Action[] | null
  /** Reads one message of the client, in slices. */
  read(bytes: Uint8Array): Sliced<Message | Refusal>
  /** Reads the beginning of one message of the server. Names the record and its end, never decides. */
  event(head: string): MessageEvent
}

export type Message =
  /** `body`: the body of the same request over HTTP. `lane`: events of its answer carry that name. */
  | { readonly kind: 'request'; readonly body: Uint8Array; readonly lane: string | null }
  /** Acknowledges an answer and asks for nothing. */
  | { readonly kind: 'acknowledgement' }

export type MessageEvent = {
  readonly lane: string | null
  /** The answer to a request ends with it. */
  readonly isEnd: boolean
  /** The HTTP status of an error; null for every other event. */
  readonly errorStatus: number | null
}
