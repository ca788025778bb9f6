import { isUtf8 } from 'node:buffer'
import type { RequestListener, Server } from 'node:http'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type onRequestHookHandler,
} from 'fastify'
import { ChaperoneError, errorBody } from '../../core/errors.ts'
import { isLoopback } from '../../core/loopback.ts'
import type { Namespaces } from '../../core/wire/access/rights.ts'
import { HEADERS } from '../../core/wire/schema/limits.ts'
import { newId } from '../crypto/ids.ts'
import { networkOf } from '../features/sessions/attempts.ts'
import { type AuthDeps, authenticate } from './auth/authenticate.ts'
import {
  CONNECTION_LIMITS,
  type ConnectionLimitOptions,
  type ConnectionLimits,
  limitConnections,
} from './connection-limits.ts'
import { asChaperoneError } from './errors.ts'
import { parseInput, validationError } from './input.ts'
import { refuseForeignHost } from './origin.ts'
import { createPendingRequests, type PendingRequests } from './pending-requests.ts'
import type { Principal, Route, RouteInput, RouteResult } from './route.ts'
import { clientCaOptions, type Tls } from './tls.ts'

const BODY_LIMIT = 1024 * 1024
/**
 * Maximum body size in bytes for routes without authentication, because any caller can make the server hold such a body
 * in memory.
 */
const ANONYMOUS_BODY_LIMIT = 64 * 1024
const ANONYMOUS_BODY_MS = 10_000
const ANONYMOUS: Principal = { kind: 'anonymous' }
const NOWHERE: Namespaces = new Set()

export type ServerDeps = {
  readonly routes: readonly Route[]
  readonly auth: AuthDeps
  readonly log: FastifyBaseLogger
  /** Value of the response header `X-Service-Version`. */
  readonly version: string
  readonly listenHost: string
  /** Addresses and CIDR ranges of the proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  /** Certificates of an HTTPS server; null for plain HTTP. */
  readonly tls: Tls | null
  readonly connectionLimits?: ConnectionLimitOptions
}

/** Creates the Fastify application with all routes. The application does not listen yet. */
export function createHttpServer(deps: ServerDeps): FastifyInstance {
  const sendError = errorSender(deps.log)
  const maxHeaderSize = maxHeaderBytes(deps.listenHost)
  const app = fastify({
    ...(deps.tls === null ? {} : { serverFactory: secureServer(deps.tls, maxHeaderSize) }),
    // The framework's logger is disabled, because URLs may contain tokens (`/setup?token=`) and a logger per request is
    // expensive. `errorSender` logs errors instead.
    genReqId: () => newId('request'),
    bodyLimit: BODY_LIMIT,
    trustProxy: deps.trustedProxies.length === 0 ? false : [...deps.trustedProxies],
    forceCloseConnections: 'idle',
    // Limits the time in which a request must arrive. The time of a response is unlimited, because streams to gateways
    // last for days.
    requestTimeout: 60_000,
    http: { headersTimeout: 20_000, maxHeaderSize },
    keepAliveTimeout: 75_000,
    // Requests are also served during shutdown. The framework would answer them with its own 503, which does not have
    // the common format.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      stamp(request.id, reply, deps.version)
      return sendError(error, request, reply)
    },
    clientErrorHandler: (error, socket) => answerMalformed(error, socket, deps.version),
    routerOptions: { maxParamLength: 512 },
  })
  readJsonOnly(app)
  app.addHook('onRequest', (request, reply, done) => {
    stamp(request.id, reply, deps.version)
    refuseForeignHost(request, { host: deps.listenHost, publicUrl: deps.auth.publicUrl })
    done()
  })
  app.setErrorHandler(sendError)
  app.setNotFoundHandler((request, reply) =>
    sendError(
      new ChaperoneError('not_found', {
        detail: `There is no endpoint ${request.method} ${pathOf(request)}. Check the method and the path.`,
      }),
      request,
      reply,
    ),
  )
  const connections = limitConnections(app.server, deps.connectionLimits ?? CONNECTION_LIMITS)
  const pending = createPendingRequests()
  for (const declared of deps.routes) addRoute(app, declared, { ...deps, connections, pending })
  return app
}

/**
 * Returns the maximum size of the header fields in bytes. Browsers share cookies between the ports of a host. On
 * loopback, a server on another port can therefore set as many cookies as a browser stores (180 of 4 KiB). The maximum
 * on loopback exceeds the size of these cookies, so that such a server cannot lock users out. On other hosts, a lower
 * maximum protects the memory.
 */
function maxHeaderBytes(listenHost: string): number {
  return isLoopback(listenHost) ? 1024 * 1024 : 64 * 1024
}

function secureServer(tls: Tls, maxHeaderSize: number) {
  return (handler: RequestListener): Server => {
    // Also accepts connections without a verified client certificate, because each route has its own authentication
    // mode.
    const requested = tls.clientCa === null ? {} : { requestCert: true, rejectUnauthorized: false }
    const clients = { ...requested, ...clientCaOptions(tls.clientCa) }
    const { certificate, SNICallback } = tls
    const server = createServer({ ...certificate, ...clients, SNICallback, maxHeaderSize }, handler)
    tls.keepFresh(server)
    // Fastify only uses members that the HTTP and the HTTPS server of Node have in common.
    return server as unknown as Server
  }
}

type RouteDeps = ServerDeps & { readonly connections: ConnectionLimits; readonly pending: PendingRequests }

function addRoute(app: FastifyInstance, declared: Route, deps: RouteDeps): void {
  const { log } = deps
  app.route({
    method: declared.method,
    url: declared.path,
    bodyLimit: declared.bodyLimit ?? (declared.auth === 'none' ? ANONYMOUS_BODY_LIMIT : BODY_LIMIT),
    // Authenticates before the body is read, so that the server refuses an unauthenticated upload early.
    onRequest: declared.auth === 'none' ? anonymous(deps) : authenticator(declared, deps),
    handler: async (request, reply) => {
      const principal = declared.auth === 'none' ? ANONYMOUS : request.principal
      const value = await declared.handler({
        params: parseInput(declared.params, request.params),
        query: parseInput(declared.query, request.query),
        body: parseInput(declared.body, request.body),
        principal,
        namespaces: principal.kind === 'user' ? principal.namespaces : NOWHERE,
        requestId: request.id,
        log,
        raw: rawOf(request, reply),
      } as never)
      if (value === undefined) return reply
      if (!isResult(value)) return value
      return reply
        .code(value.status)
        .headers(value.headers ?? {})
        .send(value.body)
    },
  })
}

/**
 * Closes an unauthenticated connection when its body is not complete in time. Authenticated requests are limited by
 * `requestTimeout`.
 */
function anonymous({ pending }: RouteDeps): onRequestHookHandler {
  return ({ raw, ip }, reply, done) => {
    const { socket } = raw
    if (!pending.begin(socket, networkOf(ip))) return
    reply.raw.once('close', () => pending.answered(socket))
    if (!raw.complete && raw.method !== 'GET') {
      const timer = setTimeout(() => socket.destroy(), ANONYMOUS_BODY_MS)
      const clear = (): void => clearTimeout(timer)
      raw.once('end', clear).once('close', clear)
    }
    done()
  }
}

function authenticator(declared: Route, { auth, connections, pending }: RouteDeps): onRequestHookHandler {
  return (request, reply, done) => {
    const { socket } = request.raw
    if (!pending.begin(socket, networkOf(request.ip))) return
    reply.raw.once('close', () => pending.answered(socket))
    authenticate(declared, request, auth).then(
      (principal) => {
        pending.authenticated(socket)
        request.principal = principal
        connections.authenticated(socket, principal)
        done()
      },
      (error: Error) => done(error),
    )
  }
}

/**
 * Returns whether the value is a `RouteResult`: an object with `status`, `body`, optionally `headers`, and no other
 * members. Any other value is the body of a response.
 */
function isResult(value: unknown): value is RouteResult<unknown> {
  if (typeof value !== 'object' || value === null) return false
  const keys = Object.keys(value)
  return (
    'status' in value &&
    typeof value.status === 'number' &&
    'body' in value &&
    keys.every((key) => key === 'status' || key === 'body' || key === 'headers')
  )
}

/** Accepts JSON bodies only. An empty body counts as absent, whatever its Content-Type. */
function readJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const parse = app.getDefaultJsonParser('error', 'ignore')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, given, done) => {
    const bytes = Buffer.isBuffer(given) ? given : Buffer.from(given)
    if (bytes.length === 0) return done(null, undefined)
    // Rejects invalid UTF-8. A decoder would replace the invalid bytes, so the decision would apply to a text that
    // differs from the sent text.
    if (!isUtf8(bytes)) {
      return done(validationError(['body: is not valid UTF-8']))
    }
    void parse(request, bytes.toString(), (error, value) => {
      if (!error) return done(null, value)
      done(validationError(['body: is not valid JSON']))
    })
  })
}

function stamp(requestId: string, reply: FastifyReply, version: string): void {
  reply.header(HEADERS.requestId, requestId)
  reply.header(HEADERS.version, version)
  reply.header('X-Content-Type-Options', 'nosniff')
  reply.header('Cache-Control', 'no-store')
}

/**
 * Returns request and reply for handlers that write the response themselves. The first read of `reply` sets the common
 * header fields. For other responses the framework sets these fields, which is about 5 % cheaper.
 */
function rawOf(request: FastifyRequest, reply: FastifyReply): RouteInput<never, never, never>['raw'] {
  return {
    request,
    get reply() {
      if (reply.raw.headersSent) return reply
      for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value ?? '')
      return reply
    },
  }
}

function errorSender(log: FastifyBaseLogger) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const failure = asChaperoneError(error)
    // Refused streams (`overloaded`) are not logged. When many streams are refused at once, writing the log lines would
    // cost more than refusing the streams. The hub logs one line for all of them.
    if (failure.status >= 500 && failure.code !== 'overloaded')
      log.error({ err: error, request_id: request.id }, 'request failed')
    const { retryAfterS } = failure.options
    if (retryAfterS !== undefined) reply.header('Retry-After', String(retryAfterS))
    if (failure.code === 'unauthorized') reply.header('WWW-Authenticate', 'Bearer')
    return reply.code(failure.status).send(errorBody(failure))
  }
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?')[0] ?? ''
}

const MALFORMED = {
  headers_too_large:
    'The header fields of the request are too long. In a browser, remove the cookies of this host, which are shared between its ports and may be set by a server on another port. The kill switch can also be activated with chaperone kill on (in a cluster kubectl chaperone kill on).',
  malformed_request: 'The request is not valid HTTP/1.1.',
} as const

/** Sends an error response to a request that Node cannot parse, and closes the connection. */
function answerMalformed(error: Error & { code?: string }, socket: Socket, version: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const code = error.code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'malformed_request'
  const failure = new ChaperoneError(code, { detail: MALFORMED[code] })
  const body = JSON.stringify(errorBody(failure))
  const head = [
    `HTTP/1.1 ${failure.status} ${code === 'headers_too_large' ? 'Request Header Fields Too Large' : 'Bad Request'}`,
    'Content-Type: application/json; charset=utf-8',
    `${HEADERS.requestId}: ${newId('request')}`,
    `${HEADERS.version}: ${version}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal
  }
}
