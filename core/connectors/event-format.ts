import type { Action } from '../action/action.ts'
import type { CanonicalRequest } from '../request/canonical.ts'
import type { ConnectorConfig } from './connector.ts'

/**
 * Format of server-sent events for the clients of one API, while the request is held and when it ends without a
 * response of the upstream. All texts end with a line end, events with a blank line.
 */
export type EventFormat = {
  /** Keeps the connection alive without any effect on the client. */
  readonly idle: string
  /** The same while an approval is pending; `count` numbers the texts of one stream from 1. */
  waiting(count: number): string
  /**
   * The events that end the stream; `error` is the body of an error in the format of the API, or a JSON-RPC response.
   * `isFinal`: a retry of the request would fail again.
   */
  failure(error: ErrorObject, isFinal: boolean): string
  /** Id of the answered JSON-RPC request: its body may be discarded before the response ends. */
  readonly rpcId?: string | number
  /** Precedes the data of an event that carries a whole JSON response. */
  readonly answerHead: string
}

export type ErrorObject = Readonly<Record<string, unknown>>

/** A request that is held. */
export type HeldRequest = {
  readonly request: CanonicalRequest
  readonly actions: readonly Action[]
  readonly config: ConnectorConfig
  /** Returns the parsed JSON body; undefined for any other body. */
  body(): unknown
}

/** Formats one event; `data` is written on one line. */
export function eventText(event: string | null, data: unknown): string {
  const name = event === null ? '' : `event: ${event}\n`
  return `${name}data: ${JSON.stringify(data)}\n\n`
}
