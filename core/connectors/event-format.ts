import type { Action } from '../action/action.ts'
import type { CanonicalRequest } from '../request/canonical.ts'
import type { ConnectorConfig } from './connector.ts'

/**
 * Format of server-sent events for the clients of one API. The gateway writes the events while the request is held, and
 * when the stream ends without a response of the upstream. Each text ends with a line end, each event with a blank
 * line.
 */
export type EventFormat = {
  /** Text that keeps the connection alive while no event is sent. Clients ignore this text. */
  readonly idle: string
  /**
   * Returns the text that keeps the connection alive while an approval is pending. `count` numbers the texts of one
   * stream from 1.
   */
  waiting(count: number): string
  /**
   * Returns the events that end the stream with an error. `error` is the body of an error in the format of the API, or
   * a JSON-RPC response. `isFinal`: a retry of the request would fail again.
   */
  failure(error: ErrorObject, isFinal: boolean): string
  /**
   * Id of the JSON-RPC request that the stream answers. The format stores the id, because the request body may be
   * discarded before the response ends.
   */
  readonly rpcId?: string | number
  /** Text that precedes the data of an event with a whole JSON response. */
  readonly answerHead: string
}

export type ErrorObject = Readonly<Record<string, unknown>>

/** A held request, with the actions, the configuration and the body that select its event format. */
export type HeldRequest = {
  readonly request: CanonicalRequest
  readonly actions: readonly Action[]
  readonly config: ConnectorConfig
  /** Returns the parsed JSON body; undefined for any other body. */
  body(): unknown
}

/** Formats one server-sent event; `data` is written as JSON on one line. */
export function eventText(event: string | null, data: unknown): string {
  const name = event === null ? '' : `event: ${event}\n`
  return `${name}data: ${JSON.stringify(data)}\n\n`
}
