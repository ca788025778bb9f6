import type { Socket } from 'node:net'
import { normaliseHost, parseAuthority } from '../../../core/request/authority.ts'
import { authorityText } from '../../../core/request/authority-text.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { Credentials } from '../../pipeline/credentials/credentials.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { newConnectExchange } from '../connect-exchange.ts'
import type { ConnectionDeadline } from '../connection-deadline.ts'
import { rejectConnection } from '../connection-rejection.ts'
import type { FrontDeps } from '../deps.ts'
import { createDiscardingReply } from '../discarding-reply.ts'
import { type Sniffed, sniff } from '../sniff.ts'
import { enterTunnel } from '../tunnel.ts'
import { openPassthrough } from './passthrough.ts'

/** Listeners that receive redirected connections: TCP 443, TCP 80, and all other TCP ports. */
export type CapturedKind = 'tls' | 'http' | 'other'

/**
 * Original destination of a redirected connection. `host` is the name to which the gateway's DNS assigned the address;
 * null for other addresses.
 */
export type CapturedDestination = {
  readonly host: string | null
  readonly address: string
  readonly port: number
}

export type TransparentDeps = FrontDeps & {
  /** Credentials of the agent whose connections are redirected to these listeners. */
  readonly credentials: Credentials
  readonly destinationOf: (socket: Socket) => Promise<CapturedDestination | null>
  /** Returns true when `egress.tcp` lists the host and port. */
  readonly isOpaque: (host: string, port: number) => boolean
  /** Returns true when no connector owns the host on any port and the gateway refuses requests to the host. */
  readonly isUnowned: (host: string, port: number) => boolean
  /** Returns true for connections of the sidecar itself that test whether capture works. The gateway resets them. */
  readonly isProbe: (kind: CapturedKind, socket: Socket) => boolean
}

export type CapturedConnection = { readonly socket: Socket; readonly deadline: ConnectionDeadline }

type Arrival = CapturedConnection & {
  readonly credentials: Credentials
  /** Name to which the gateway's DNS assigned the address; null for other addresses. */
  readonly host: string | null
  /** Address that the client dialed; null when it is unknown. */
  readonly address: string | null
  /** Port that the client dialed; null when it is unknown. */
  readonly port: number | null
}
type Hello = Extract<Sniffed, { protocol: 'tls' }>

/**
 * Time in milliseconds to wait for the first byte on ports other than 80 and 443. The time is shorter than the idle
 * timeout, because in other protocols the client may wait for the server to send first. After that time, the connection
 * is recorded as unsupported.
 */
const SILENCE_MS = 10_000
/**
 * TLS alert: fatal `unrecognized_name` (RFC 6066, section 3). The alert shows the client that a server name is
 * required.
 */
const UNRECOGNIZED_NAME = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x70])

/**
 * Serves connections that the redirect rules of the pod sent to the gateway. The requested host decides the
 * destination, not the address that the client dialed.
 */
export function createTransparent(
  deps: TransparentDeps,
): (kind: CapturedKind, captured: CapturedConnection) => void {
  const { credentials } = deps
  return (kind, { socket, deadline }) => {
    if (deps.isProbe(kind, socket)) {
      socket.resetAndDestroy()
      return
    }
    if (isRejected(deps, { socket, deadline })) return
    const arrival = { socket, deadline, credentials, host: null, address: null }
    if (kind !== 'other') listen(deps, { ...arrival, port: kind === 'tls' ? 443 : 80 }, deps.limits)
    else
      serveOther(deps, arrival).catch((error: unknown) => deps.log.error({ err: error }, 'listener failed'))
  }
}

/** Rejects the connection and returns true when the connection quota of the agent is used up. */
function isRejected(deps: TransparentDeps, { socket, deadline }: CapturedConnection): boolean {
  const { credentials } = deps
  const agent = deps.agentOf(credentials)
  const detail = agent === null ? null : deadline.slot.claim(agent)
  if (detail !== null) rejectConnection(deps, { socket, deadline, credentials, detail })
  return detail !== null
}

async function serveOther(deps: TransparentDeps, given: Omit<Arrival, 'port'>): Promise<void> {
  const destination = await deps.destinationOf(given.socket)
  if (given.socket.destroyed) return
  const { host = null, address = null, port = null } = destination ?? {}
  const arrival = { ...given, host, address, port }
  if (host !== null && port !== null && deps.isOpaque(host, port)) {
    openPassthrough(deps, { ...arrival, authority: { host, port }, first: Buffer.alloc(0), isTls: false })
    return
  }
  listen(deps, arrival, { ...deps.limits, idleTimeoutMs: SILENCE_MS })
}

function listen(deps: TransparentDeps, arrival: Arrival, limits: FrontDeps['limits']): void {
  const { socket, deadline } = arrival
  sniff(socket, deadline, limits, (what) => {
    if (what.protocol === 'tls') serveTls(deps, arrival, what)
    else if (what.protocol === 'none') serveSilence(deps, arrival, what)
    else serveHttp(deps, arrival, what)
  })
}

/**
 * Serves TLS. The server name (SNI) determines destination and certificate, so a connection without a server name is
 * refused.
 */
function serveTls(deps: TransparentDeps, arrival: Arrival, hello: Hello): void {
  const { socket, deadline, credentials, port } = arrival
  if (port === 80) {
    unsupported(deps, arrival, 'TLS on port 80')
    return
  }
  const host = normaliseHost(hello.serverName ?? '')
  if (host === null) {
    socket.write(UNRECOGNIZED_NAME)
    unsupported(deps, arrival, 'TLS without a server name (SNI)')
    return
  }
  if (port !== null && deps.admit({ host, port }, credentials) !== 'intercept') {
    openPassthrough(deps, { ...arrival, authority: { host, port }, first: hello.bytes, isTls: true })
    return
  }
  const sources = port === null ? {} : { connectAuthority: `${host}:${port}` }
  enterTunnel(deps, { socket, deadline, credentials, sources, host, isPort: true }, hello)
}

type Plain = Exclude<Sniffed, { protocol: 'tls' | 'none' }>

function serveHttp(deps: TransparentDeps, arrival: Arrival, what: Plain): void {
  const { socket, deadline, credentials, port } = arrival
  if (what.protocol === 'http1' && !looksLikeHttp(what.bytes)) {
    unsupported(deps, arrival, `a protocol that begins with ${printable(what.bytes)}`)
    return
  }
  const handle = (exchange: Exchange): Promise<unknown> => deps.handle(onPort(exchange, port))
  const tunnel = { socket, deadline, credentials, sources: {}, host: '', isPort: true }
  enterTunnel({ ...deps, handle }, tunnel, what)
}

/**
 * Returns true when the bytes may start an HTTP request: a method of upper-case letters followed by a space. The method
 * may be incomplete.
 */
function looksLikeHttp(bytes: Buffer): boolean {
  return /^[A-Z]{1,32}(?: |$)/.test(bytes.toString('latin1', 0, 33))
}

/**
 * Marks a request as refused when its Host header names another port than the client dialed, so that the decision is
 * about the actual destination.
 */
function onPort(exchange: Exchange, port: number | null): Exchange {
  const { raw, malformed } = exchange
  const named = raw.sources.authority ?? headerValue(raw.rawHeaders, 'host')
  if (port === null || malformed !== undefined || named === undefined) return exchange
  const authority = parseAuthority(named, raw.scheme)
  if ('kind' in authority || authority.port === port) return exchange
  const detail = `the connection is to port ${port} but the request is for ${named}; open a connection to that port`
  exchange.malformed = { code: 'misdirected', detail }
  return exchange
}

/**
 * Handles a connection whose first bytes are missing or do not suffice to detect the protocol. On ports 80 and 443 an
 * unused connection is not recorded, because clients open connections in advance. On other ports the client waits for
 * the server to send first, which is unsupported.
 */
function serveSilence(deps: TransparentDeps, arrival: Arrival, { bytes }: { readonly bytes: Buffer }): void {
  const { socket, port } = arrival
  const isWaiting = port !== 443 && port !== 80 && !socket.readableEnded && !socket.destroyed
  if (bytes.length > 0) unsupported(deps, arrival, 'an incomplete TLS ClientHello or HTTP request')
  else if (isWaiting) unsupported(deps, arrival, 'a protocol in which the server sends the first bytes')
  else socket.destroySoon()
}

/** Records an unsupported protocol and closes the connection. The gateway cannot send a response in that protocol. */
function unsupported(deps: TransparentDeps, arrival: Arrival, what: string): void {
  withAddress(deps, arrival)
    .then((placed) => recordUnsupported(deps, placed, what))
    .catch((error: unknown) => deps.log.error({ err: error }, 'exchange failed'))
    .finally(() => arrival.socket.destroySoon())
}

/**
 * Adds the original destination to a connection of an unsupported protocol. On ports 80 and 443 the destination is read
 * for the record only, because requests name their destination themselves.
 */
async function withAddress(deps: TransparentDeps, arrival: Arrival): Promise<Arrival> {
  if (arrival.host !== null || arrival.address !== null) return arrival
  // The connection is recorded even when its destination is unknown.
  const destination = await deps.destinationOf(arrival.socket).catch(() => null)
  return destination === null ? arrival : { ...arrival, ...destination }
}

async function recordUnsupported(deps: TransparentDeps, arrival: Arrival, what: string): Promise<void> {
  const { credentials, port } = arrival
  const host = arrival.host ?? arrival.address
  const target = authorityText(host ?? 'unknown', port ?? 0)
  const detail = `${what} is not supported; connect with TLS and a server name, or add host and port to egress.tcp of the Gateway`
  const isUnowned = host !== null && port !== null && deps.isUnowned(host, port)
  const exchange = newConnectExchange({
    id: deps.newRequestId(),
    target,
    sources: host === null ? {} : { connectAuthority: target },
    credentials,
    reply: createDiscardingReply(),
    abort: new AbortController(),
    problem: { code: 'malformed_request', detail, ...(isUnowned ? { reason: 'unknown_host' } : {}) },
  })
  exchange.outcome.note = 'unsupported_protocol'
  await deps.handle(exchange)
}

function printable(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('latin1', 0, 16))
}
