import type { Socket } from 'node:net'
import type { ExchangeAbort } from '../../pipeline/exchange-abort.ts'
import type { RequestBody } from '../../pipeline/request-body.ts'
import type { RequestTemplate } from '../../pipeline/request-template.ts'
import type { ConnectionDeadline } from '../connection-deadline.ts'
import type { Problem } from './framing.ts'
import type { RequestHead } from './head.ts'
import type { Http1Reply } from './reply.ts'

/** One request of an HTTP/1.1 connection, well formed or malformed. */
export type Incoming = {
  readonly head: RequestHead
  /** Set when the request must be refused. `head` then contains the parsed part of the request head. */
  readonly problem: Problem | null
  /** Cached results for requests with this head; null for a malformed request. */
  readonly template: RequestTemplate | null
  readonly body: RequestBody
  readonly reply: Http1Reply
  readonly abort: ExchangeAbort
  /** Monotonic time in milliseconds at which the request was accepted (`performance.now()`). */
  readonly acceptedAt: number
  /** Unix time in milliseconds at which the request was accepted. */
  readonly timeMs: number
  readonly connection: { readonly socket: Socket; readonly deadline: ConnectionDeadline }
}

/**
 * Handles one request. The connection calls the handler for the next request after the reply has ended. When the
 * handler rejects, the client receives 500.
 */
export type RequestHandler = (incoming: Incoming) => Promise<unknown>

export type Http1Options = {
  readonly handler: RequestHandler
  readonly deadline: ConnectionDeadline
  readonly idleTimeoutMs: number
  readonly headTimeoutMs: number
  readonly onFailure: (error: unknown) => void
}
