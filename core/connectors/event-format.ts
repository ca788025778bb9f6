import type { Action } from '../action/action.ts'
import type { CanonicalRequest } from '../request/canonical.ts'
import type { ConnectorConfig } from './connector.ts'

/**
 * How an answer of server-sent events is written for the clients of one API, while the request is held and when it ends
 * without an answer of the upstream. All texts end with a line end, events with a blank line.
 */
export type EventFormat = {
  /** Keeps the connection in use and changes nothing for the client. */
  readonly idle: string
  /** The same while an approver is waited for; `count` numbers the texts of one stream from 1. */
  waiting(count: number): string
  /**
   * The events that end the stream; `error` is the body of an error in the format of the API, or a JSON-RPC response.
   * With `isFinal` the same request would fail again.
   */
  failure(error: ErrorObject, isFinal: boolean): string
  /** Of the JSON-RPC request that is answered: its body may be discarded before the answer ends. */
  readonly rpcId?: string | number
  /** Stands before the data of an event that holds a whole answer of JSON. */
  readonly answerHead: string
}

export type ErrorObject = Readonly<Record<string, unknown>>

/** A request that is held. */
export type HeldRequest = {
  readonly request: CanonicalRequest
  readonly actions: readonly Action[]
  readonly config: ConnectorConfig
  /** Parses the JSON body; undefined for any other body. */
  body(): unknown
}

/** One event; `data` is written on one line. */
export function eventText(event: string | null, data: unknown): string {
  const name = event === null ? '' : `event: ${event}\n`
  return `${name}data: ${JSON.stringify(data)}\n\n`
}
