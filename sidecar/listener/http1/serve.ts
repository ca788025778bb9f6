import { createExchangeAbort } from '../../pipeline/exchange-abort.ts'
import type { RequestBody } from '../../pipeline/request-body.ts'
import type { ConnectionDeadline } from '../connection-deadline.ts'
import type { RequestHead } from './head.ts'
import type { Http1Options, Incoming } from './incoming.ts'
import { Http1Reply, type ReplyLine } from './reply.ts'

const INTERNAL_ERROR = '{"error":"Internal error","message":"Internal error"}'

export type Line = ReplyLine & {
  readonly socket: Incoming['connection']['socket']
  readonly deadline: ConnectionDeadline
}

export function newIncoming(
  line: Line,
  head: RequestHead,
  body: RequestBody,
  { problem, template }: Pick<Incoming, 'problem' | 'template'>,
): Incoming {
  return {
    head,
    problem,
    template,
    body,
    reply: new Http1Reply(line, head),
    abort: createExchangeAbort(),
    acceptedAt: performance.now(),
    timeMs: Date.now(),
    connection: line,
  }
}

/**
 * Calls the request handler, and answers 500 when the handler fails or starts no reply. `beforeFailure` is called
 * before the 500 is sent.
 */
export function serve(incoming: Incoming, options: Http1Options, beforeFailure: () => void): void {
  const settle = (): void => {
    if (incoming.reply.isStarted) return
    beforeFailure()
    incoming.reply.send(500, ['Content-Type', 'application/json'], INTERNAL_ERROR)
  }
  const failed = (error: unknown): void => {
    options.onFailure(error)
    settle()
  }
  // The handler can also throw synchronously, and an exception must not end the process.
  try {
    options.handler(incoming).then(settle, failed)
  } catch (error) {
    failed(error)
  }
}
