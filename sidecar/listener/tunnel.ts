import type { Socket } from 'node:net'
import type { RequestSources } from '../../core/request/canonical.ts'
import type { Credentials } from '../pipeline/credentials/credentials.ts'
import { newConnectExchange } from './connect-exchange.ts'
import type { ConnectionDeadline } from './connection-deadline.ts'
import type { FrontDeps } from './deps.ts'
import { createDiscardingReply } from './discarding-reply.ts'
import { Http1Connection } from './http1/connection.ts'
import { serveHttp2 } from './http2/session.ts'
import { type Sniffed, sniff } from './sniff.ts'
import { type TlsResult, terminateTls } from './terminate-tls.ts'
import { createTunnelHandler, type TunnelContext } from './tunnel-handler.ts'

/** A stream that carries requests, inside a CONNECT or directly on the port of an agent. */
export type Tunnel = {
  readonly socket: Socket
  readonly deadline: ConnectionDeadline
  readonly credentials: Credentials
  readonly sources: RequestSources
  /** Host of the certificate for a client that sends no server name. */
  readonly host: string
  readonly isPort: boolean
}

type Secured = TlsResult & { readonly kind: 'secure' }

/** Detects the protocol inside the tunnel and serves it. */
export function openTunnel(deps: FrontDeps, tunnel: Tunnel): void {
  const { socket, deadline } = tunnel
  sniff(socket, deadline, deps.limits, (what) => enterTunnel(deps, tunnel, what))
}

/** Serves a tunnel whose protocol is already detected. */
export function enterTunnel(deps: FrontDeps, tunnel: Tunnel, what: Sniffed): void {
  switch (what.protocol) {
    case 'tls':
      decrypt(deps, tunnel, what.bytes, what.serverName)
      return
    case 'h2':
      tunnel.socket.unshift(what.bytes)
      serveHttp2(deps, tunnelContextOf(tunnel, 'http', null), tunnel.socket, tunnel.deadline)
      return
    case 'http1':
      serveHttp1(deps, tunnelContextOf(tunnel, 'http', null), tunnel.socket, tunnel.deadline).start(
        what.bytes,
      )
      return
    case 'none':
      // An unused tunnel is not recorded. A tunnel whose first bytes do not suffice to detect the protocol counts as a
      // failed TLS handshake.
      if (what.bytes.length > 0) reportTlsFailure(deps, tunnel, what.detail, null)
      tunnel.socket.end()
      tunnel.socket.destroySoon()
      return
  }
}

/** Creates an HTTP/1.1 connection on the stream. The caller must call `start` on the result. */
function serveHttp1(
  deps: FrontDeps,
  context: TunnelContext,
  socket: Socket,
  deadline: ConnectionDeadline,
): Http1Connection {
  return new Http1Connection(socket, {
    handler: createTunnelHandler(deps, context),
    deadline,
    idleTimeoutMs: deps.limits.idleTimeoutMs,
    headTimeoutMs: deps.limits.headTimeoutMs,
    onFailure: (error) => deps.log.error({ err: error }, 'exchange failed'),
  })
}

function decrypt(deps: FrontDeps, tunnel: Tunnel, hello: Buffer, serverName: string | null): void {
  const { socket, deadline } = tunnel
  const context = contextFor(deps, serverName ?? tunnel.host)
  if (typeof context === 'string') {
    reportTlsFailure(deps, tunnel, context, serverName)
    socket.destroySoon()
    return
  }
  const protocols = deps.prefersHttp1(serverName ?? tunnel.host) ? ['http/1.1', 'h2'] : ['h2', 'http/1.1']
  const options = { context, protocols, deadline, timeoutMs: deps.limits.headTimeoutMs }
  terminateTls(socket, hello, options, (result) => {
    if (result.kind === 'failed') reportTlsFailure(deps, tunnel, result.detail, serverName)
    else serveDecrypted(deps, tunnel, result)
  })
}

function serveDecrypted(deps: FrontDeps, tunnel: Tunnel, { socket, isHttp2, serverName }: Secured): void {
  const use = { isUsed: false }
  const handle: FrontDeps['handle'] = (exchange) => {
    use.isUsed = true
    return deps.handle(exchange)
  }
  // Some clients (Node) verify the certificate only after the handshake. A client that rejects the certificate closes
  // the connection without a request.
  socket.once('close', () => {
    const why =
      'the client disconnected after the TLS handshake without a request; check that the client trusts the CA'
    if (!use.isUsed) reportTlsFailure(deps, tunnel, why, serverName)
  })
  const context = tunnelContextOf(tunnel, 'https', serverName)
  if (isHttp2) serveHttp2({ ...deps, handle }, context, socket, tunnel.deadline)
  else serveHttp1({ ...deps, handle }, context, socket, tunnel.deadline).start(null)
}

/**
 * Returns the TLS context for a host, or the reason why there is none: the client chooses the host name, which may be
 * invalid.
 */
export function contextFor(
  deps: FrontDeps,
  host: string,
): ReturnType<FrontDeps['leaf']['contextFor']> | string {
  try {
    return deps.leaf.contextFor(host)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function tunnelContextOf(
  { credentials, sources, isPort }: Tunnel,
  scheme: 'http' | 'https',
  sni: string | null,
): TunnelContext {
  return { scheme, credentials, isPort, sources: sni === null ? sources : { ...sources, sni } }
}

/** Records a failed TLS handshake. No response to the client is possible. */
function reportTlsFailure(deps: FrontDeps, tunnel: Tunnel, why: string, sni: string | null): void {
  const { sources, credentials } = tunnelContextOf(tunnel, 'https', sni)
  const exchange = newConnectExchange({
    id: deps.newRequestId(),
    target: sources.connectAuthority ?? tunnel.host,
    sources,
    credentials,
    reply: createDiscardingReply(),
    abort: new AbortController(),
    problem: { code: 'malformed_request', detail: `TLS handshake with the client failed: ${why}` },
  })
  const failed = (error: unknown): void => deps.log.error({ err: error }, 'exchange failed')
  try {
    deps.handle(exchange).catch(failed)
  } catch (error) {
    failed(error)
  }
}
