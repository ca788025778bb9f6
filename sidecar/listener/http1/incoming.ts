import type { Socket } from 'node:net'
import type { RequestBody } from '../../pipeline/exchange.ts'
import type { ExchangeAbort } from '../../pipeline/exchange-abort.ts'
import type { ConnectionDeadline } from '../connection-deadline.ts'
import type { Problem } from './framing.ts'
import type { RequestHead } from './head.ts'
import type { Http1Reply } from './reply.ts'

/** One request as it came off a connection, well formed or not. */
export type Incoming = {
  readonly head: RequestHead
  /** Set when the request must be refused; `head` then holds the readable part. */
  readonly problem: Problem | null
  readonly body: RequestBody
  readonly reply: Http1Reply
  readonly abort: ExchangeAbort
  /** performance.now() */
  readonly acceptedAt: number
  /** Epoch ms. */
  readonly timeMs: number
  readonly connection: { readonly socket: Socket; readonly deadline: ConnectionDeadline }
}

/**
 * Handles requests, one at a time for each connection: called for the next request when the reply has ended. A
 * rejection is answered with 500.
 */
export type RequestHandler = (incoming: Incoming) => Promise<void>

export type Http1Options = {
  readonly handler: RequestHandler
  readonly deadline: ConnectionDeadline
  readonly idleTimeoutMs: number
  readonly headTimeoutMs: number
  readonly onFailure: (error: unknown) => void
}
