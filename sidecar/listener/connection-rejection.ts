import type { Socket } from 'node:net'
import type { Credentials } from '../pipeline/credentials/credentials.ts'
import { Exchange } from '../pipeline/exchange.ts'
import { createExchangeAbort } from '../pipeline/exchange-abort.ts'
import type { AfterRecord } from '../pipeline/ports.ts'
import type { Reply } from '../pipeline/reply.ts'
import { EMPTY_BODY } from './body-intake.ts'
import { type ConnectionDeadline, LINGER_MS } from './connection-deadline.ts'
import type { FrontDeps } from './deps.ts'
import { fieldLines, statusLine } from './http1/reply-head.ts'

export type RejectedConnection = {
  readonly socket: Socket
  readonly deadline: ConnectionDeadline
  /** Credentials that follow from the port alone. No request was read. */
  readonly credentials: Credentials
  /** Reason of the rejection, with the name of the exceeded limit. */
  readonly detail: string
}

/**
 * Answers a connection beyond a limit with 503 and records one exchange. A client whose connection is only closed would
 * retry immediately; a client that receives 503 waits. No request is read, so each connection costs one record only.
 * Records that do not fit into a full journal count as lost.
 */
export function rejectConnection(
  deps: FrontDeps,
  { socket, deadline, credentials, detail }: RejectedConnection,
): void {
  const reply = createLastReply(socket)
  const exchange = new Exchange({
    id: deps.newRequestId(),
    acceptedAt: performance.now(),
    timeMs: Date.now(),
    kind: 'http',
    transport: isOfPort(credentials) ? 'port-absolute' : 'absolute',
    raw: { method: '', target: '', rawHeaders: [], httpVersion: '1.1', scheme: 'http', sources: {} },
    credentials,
    body: EMPTY_BODY,
    reply,
    abort: createExchangeAbort(),
    problem: { code: 'not_ready', detail },
  })
  socket.resume()
  deadline.arm(LINGER_MS, () => socket.destroy())
  deps
    .handle(exchange)
    .catch((error: unknown) => deps.log.error({ err: error }, 'exchange failed'))
    .finally(() => {
      if (!reply.isStarted) socket.destroy()
    })
}

function isOfPort(credentials: Credentials): boolean {
  return credentials.kind === 'port' || credentials.keyedPort !== undefined
}

/** Creates the reply that sends one HTTP/1.1 response and closes the connection. */
function createLastReply(socket: Socket): Reply {
  const state = { isStarted: false, bytesOut: 0 }
  return {
    get bytesOut() {
      return state.bytesOut
    },
    get isStarted() {
      return state.isStarted
    },
    send(status, headers, body, afterRecord: AfterRecord = (send) => send()) {
      state.isStarted = true
      state.bytesOut = Buffer.byteLength(body)
      const length = `Content-Length: ${state.bytesOut}\r\nConnection: close\r\n\r\n`
      afterRecord(() => {
        socket.write(statusLine(status) + fieldLines(headers).lines + length, 'latin1')
        socket.end(body)
      })
    },
    stream() {
      throw new Error('a rejected connection does not support streams')
    },
    interim() {},
    upgrade() {
      throw new Error('a rejected connection does not support upgrades')
    },
  }
}
