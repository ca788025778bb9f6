import {
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import { ChaperoneError } from '../../../core/errors.ts'
import type { RequestSources } from '../../../core/request/canonical.ts'
import { isGrpc } from '../../../core/request/grpc.ts'
import { Http2FieldCounter } from '../../../core/request/headers/http2-fields.ts'
import { Exchange } from '../../pipeline/exchange.ts'
import { shownKillReason } from '../../pipeline/refusal/brief-refusal.ts'
import type { Reply } from '../../pipeline/reply.ts'
import { BodyIntake, EMPTY_BODY } from '../body-intake.ts'
import { type ConnectionDeadline, LINGER_MS } from '../connection-deadline.ts'
import type { FrontDeps } from '../deps.ts'
import { createDiscardingReply } from '../discarding-reply.ts'
import type { TunnelContext } from '../tunnel-handler.ts'
import { createRejectedStreams } from './rejected-streams.ts'
import { Http2Reply } from './reply.ts'
import { type Http2Head, readHttp2Head } from './request.ts'
import { TappedSocket } from './tapped-socket.ts'

const WINDOW_BYTES = 256 * 1024
/** Maximum number of request body bytes that are discarded after the reply. Beyond the limit, the stream is closed. */
const DRAIN_BYTES = 256 * 1024
const END_STREAM = constants.NGHTTP2_FLAG_END_STREAM

const OPTIONS = {
  settings: {
    maxConcurrentStreams: 256,
    initialWindowSize: WINDOW_BYTES,
    // Maximum size of a header list in bytes. nghttp2 resets streams with a longer list, without an event. A list above
    // the smaller limit of `LIMITS` is answered with 431.
    maxHeaderListSize: 65_535,
    enablePush: false,
  },
  maxHeaderListPairs: 1_024,
  maxSettings: 32,
  maxSessionInvalidFrames: 100,
  // Limits of streams that are opened and reset in a loop (rapid reset): a burst of 200, then 20 a second. Beyond the
  // limits the session ends.
  streamResetBurst: 200,
  streamResetRate: 20,
  strictSingleValueFields: false,
} as const

/** Serves one HTTP/2 connection, over TLS or with prior knowledge. Each stream is an exchange. */
export function serveHttp2(
  deps: FrontDeps,
  context: TunnelContext,
  socket: Socket,
  deadline: ConnectionDeadline,
): void {
  const sent = new Http2FieldCounter()
  const session = performServerHandshake(new TappedSocket(socket, (chunk) => sent.read(chunk)), OPTIONS)
  const { idleTimeoutMs } = deps.limits
  const state = { open: 0 }

  const armIdle = (): void => deadline.arm(idleTimeoutMs, () => session.close())
  deadline.drain = () => session.close()
  const rejected = createRejectedStreams(session, (detail) => reportRejected(deps, context, detail))
  // HTTP/2 cannot use a half-closed connection, and Node does not close it for a session without a server object.
  socket.once('end', () => {
    rejected.check()
    session.destroy()
  })
  // The check for rejected streams runs before Node's own listener, which discards the session state.
  socket.prependOnceListener('close', () => rejected.check())
  socket.once('close', () => session.destroy())
  // Node destroys the socket with the error of the session, and emits the error on the session only after the socket
  // has closed.
  socket.on('error', (error) => rejected.failed(error))
  session.on('error', (error) => {
    rejected.failed(error)
    deps.log.debug({ err: error }, 'http2 session failed')
  })
  session.on('close', () => {
    deadline.arm(LINGER_MS, () => deadline.socket.destroy())
    deadline.socket.destroySoon()
  })
  session.on('stream', (stream, _headers, flags, raw) => {
    state.open++
    deadline.disarm()
    rejected.accepted(stream.id ?? 0)
    stream.on('error', (error) => rejected.streamFailed(error))
    stream.on('close', () => {
      state.open--
      if (state.open === 0) armIdle()
    })
    const hasBody = (flags & END_STREAM) === 0
    serveStream(deps, context, { session, stream, raw, sentFields: sent.take(stream.id ?? 0), hasBody })
  })
  armIdle()
}

type Opened = {
  readonly session: ServerHttp2Session
  readonly stream: ServerHttp2Stream
  readonly raw: readonly string[]
  readonly sentFields: number | null
  readonly hasBody: boolean
}

function serveStream(
  deps: FrontDeps,
  context: TunnelContext,
  { stream, raw, sentFields, hasBody }: Opened,
): void {
  stream.on('error', (error) => deps.log.debug({ err: error }, 'http2 stream failed'))
  const head = readHttp2Head(raw, context.scheme, sentFields)
  const abort = new AbortController()
  const intake = hasBody && head.problem === null ? receiveBody(stream, head) : null
  const isCall = isGrpc(head.rawHeaders)
  const reply = new Http2Reply(stream, {
    isHead: head.method === 'HEAD',
    // The status of a gRPC call is a trailer, even when the client does not announce `te: trailers`.
    acceptsTrailers: head.acceptsTrailers || isCall,
    grpc: isCall ? { killReason: () => shownKillReason(exchange) } : null,
    onEnded: () => discardRest(stream, intake),
  })
  stream.on('close', () => {
    const reason = new Error('the client closed the stream')
    intake?.fail(reason)
    if (!reply.isEnded) abort.abort(reason)
  })
  const exchange = new Exchange({
    id: deps.newRequestId(),
    acceptedAt: performance.now(),
    timeMs: Date.now(),
    kind: 'http',
    transport: context.isPort ? 'port-h2' : 'connect-h2',
    raw: {
      method: head.method,
      target: head.target,
      rawHeaders: head.rawHeaders,
      httpVersion: '2',
      scheme: context.scheme,
      sources: sourcesOf(context, head.authority),
    },
    credentials: context.credentials,
    body: intake ?? EMPTY_BODY,
    reply,
    abort,
    problem: head.problem,
  })
  runExchange(deps, exchange, reply)
}

/** Records a rejected stream. No response is possible, because the stream is already reset. */
function reportRejected(deps: FrontDeps, context: TunnelContext, detail: string): void {
  const reply = createDiscardingReply()
  const exchange = new Exchange({
    id: deps.newRequestId(),
    acceptedAt: performance.now(),
    timeMs: Date.now(),
    kind: 'http',
    transport: context.isPort ? 'port-h2' : 'connect-h2',
    // Method and target of the HTTP/2 preface. The request itself is unknown.
    raw: {
      method: 'PRI',
      target: '*',
      rawHeaders: [],
      httpVersion: '2',
      scheme: context.scheme,
      sources: context.sources,
    },
    credentials: context.credentials,
    body: EMPTY_BODY,
    reply,
    abort: new AbortController(),
    problem: { code: 'malformed_request', detail },
  })
  runExchange(deps, exchange, reply)
}

function runExchange(deps: FrontDeps, exchange: Exchange, reply: Reply): void {
  const failed = (error: unknown): void => {
    deps.log.error({ err: error }, 'exchange failed')
    answerAnyway(reply)
  }
  try {
    deps.handle(exchange).then(() => answerAnyway(reply), failed)
  } catch (error) {
    failed(error)
  }
}

function sourcesOf({ sources }: TunnelContext, authority: string | null): RequestSources {
  return authority === null ? sources : { ...sources, authority }
}

function receiveBody(stream: ServerHttp2Stream, head: Http2Head): BodyIntake {
  const state = { owesContinue: head.expectsContinue }
  const declared = declaredLength(head.rawHeaders)
  const source = {
    want(): void {
      if (state.owesContinue && !stream.headersSent && !stream.destroyed)
        stream.additionalHeaders({ ':status': 100 })
      state.owesContinue = false
      stream.resume()
    },
    hold(): void {
      stream.pause()
    },
  }
  const intake = new BodyIntake(source, declared)
  const push = (chunk: Buffer): void => {
    intake.push(chunk)
    // END_STREAM may arrive in a separate frame. A body of the declared length is complete without END_STREAM.
    if (intake.bytesIn === declared) intake.complete()
  }
  for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) push(chunk)
  stream.on('data', push)
  stream.on('end', () => {
    if (stream.aborted)
      intake.fail(new ChaperoneError('malformed_request', { detail: 'the request body was truncated' }))
    else if (!intake.isComplete) intake.complete()
  })
  return intake
}

function declaredLength(rawHeaders: readonly string[]): number | null {
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i] === 'content-length') return Number(rawHeaders[i + 1])
  }
  return null
}

/** Discards the rest of the request body after the reply. Closes the stream when more than `DRAIN_BYTES` arrive. */
function discardRest(stream: ServerHttp2Stream, intake: BodyIntake | null): void {
  if (intake === null || intake.isComplete) return
  const from = intake.bytesIn
  intake.discard()
  stream.on('data', () => {
    if (intake.bytesIn - from > DRAIN_BYTES && !stream.closed) stream.close(constants.NGHTTP2_NO_ERROR)
  })
}

function answerAnyway(reply: Reply): void {
  if (reply.isStarted) return
  reply.send(
    500,
    ['content-type', 'application/json'],
    '{"error":"Internal error","message":"Internal error"}',
  )
}
