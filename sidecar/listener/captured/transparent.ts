import type { Socket } from 'node:net'
import { normaliseHost, parseAuthority } from '../../../core/request/authority.ts'
import { headerValue } from '../../../core/request/headers.ts'
import type { Credentials, Exchange } from '../../pipeline/exchange.ts'
import { EMPTY_BODY } from '../body-intake.ts'
import type { ConnectionDeadline } from '../connection-deadline.ts'
import { rejectConnection } from '../connection-rejection.ts'
import type { FrontDeps } from '../deps.ts'
import { createDiscardingReply } from '../discarding-reply.ts'
import { newExchange } from '../new-exchange.ts'
import { type Sniffed, sniff } from '../sniff.ts'
import { enterTunnel } from '../tunnel.ts'
import { openPassthrough } from './passthrough.ts'

/** The listeners that redirected packets land on: TCP 443, TCP 80, and all other TCP ports. */
export type CapturedKind = 'tls' | 'http' | 'other'

/**
 * Original destination of a connection, if known. `host` is set when the gateway's DNS assigned the address to a
 * name.
 */
export type CapturedDestination = {
  readonly host: string | null
  readonly address: string
  readonly port: number
}

export type TransparentDeps = FrontDeps & {
  /** Of the agent whose connections are redirected here. */
  readonly credentials: Credentials
  readonly destinationOf: (socket: Socket) => Promise<CapturedDestination | null>
  /** Listed in `egress.tcp`. */
  readonly isOpaque: (host: string, port: number) => boolean
  /** True when no connector owns the host on any port, and the gateway refuses it. */
  readonly isUnowned: (host: string, port: number) => boolean
  /** True when the connection is the sidecar's own proof that capture works; it is closed then. */
  readonly isProbe: (kind: CapturedKind, socket: Socket) => boolean
}

export type CapturedConnection = { readonly socket: Socket; readonly deadline: ConnectionDeadline }

type Arrival = CapturedConnection & {
  readonly credentials: Credentials
  /** Name to which the gateway's DNS assigned the address; null otherwise. */
  readonly host: string | null
  /** The address that the client dialled; null when it cannot be told. */
  readonly address: string | null
  /** The port that the client dialled; null when it cannot be told. */
  readonly port: number | null
}
type Hello = Extract<Sniffed, { protocol: 'tls' }>

/**
 * Limit of silence on ports other than 80 and 443: the server of such a protocol may speak first, so the connection
 * is recorded as unsupported after this time instead of the idle timeout.
 */
const SILENCE_MS = 10_000
/** Fatal `unrecognized_name`: the client learns that it has to name its server. */
const UNRECOGNIZED_NAME = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x70])

/** Serves connections that the rules of the pod sent here. The address that the client chose counts for nothing. */
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

/** True when the agent has no room for another connection. */
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

/** The server name says where to; without one there is no name to show a certificate for. */
function serveTls(deps: TransparentDeps, arrival: Arrival, hello: Hello): void {
  const { socket, deadline, credentials, port } = arrival
  if (port === 80) {
    unsupported(deps, arrival, 'TLS on port 80')
    return
  }
  const host = normaliseHost(hello.serverName ?? '')
  if (host === null) {
    socket.write(UNRECOGNIZED_NAME)
    unsupported(deps, arrival, 'TLS that names no server (SNI)')
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
  const handle = (exchange: Exchange): Promise<void> => deps.handle(onPort(exchange, port))
  const tunnel = { socket, deadline, credentials, sources: {}, host: '', isPort: true }
  enterTunnel({ ...deps, handle }, tunnel, what)
}

/** Only HTTP's first word is upper-case letters and a space; half of it may still be on its way. */
function looksLikeHttp(bytes: Buffer): boolean {
  return /^[A-Z]{1,32}(?: |$)/.test(bytes.toString('latin1', 0, 33))
}

/**
 * Requires that the port in Host equals the dialled port, so that the governed and the intended destination agree.
 */
function onPort(exchange: Exchange, port: number | null): Exchange {
  const { raw, malformed } = exchange
  const named = raw.sources.authority ?? headerValue(raw.rawHeaders, 'host')
  if (port === null || malformed !== undefined || named === undefined) return exchange
  const authority = parseAuthority(named, raw.scheme)
  if ('kind' in authority || authority.port === port) return exchange
  const detail = `the connection is to port ${port} but the request is for ${named}; open a connection to that port`
  return { ...exchange, malformed: { code: 'misdirected', detail } }
}

/** On the ports of HTTP a connection that was opened ahead and never used is nothing; elsewhere a server was waited for. */
function serveSilence(deps: TransparentDeps, arrival: Arrival, { bytes }: { readonly bytes: Buffer }): void {
  const { socket, port } = arrival
  const isWaiting = port !== 443 && port !== 80 && !socket.readableEnded && !socket.destroyed
  if (bytes.length > 0) unsupported(deps, arrival, 'a greeting that was not finished')
  else if (isWaiting) unsupported(deps, arrival, 'a protocol in which the server speaks first')
  else socket.destroySoon()
}

/** The client cannot be answered in its protocol; the attempt leaves its one record. */
function unsupported(deps: TransparentDeps, arrival: Arrival, what: string): void {
  withAddress(deps, arrival)
    .then((placed) => recordUnsupported(deps, placed, what))
    .catch((error: unknown) => deps.log.error({ err: error }, 'exchange failed'))
    .finally(() => arrival.socket.destroySoon())
}

/** On the ports of HTTP the destination is read only here, because the name of a request replaces it. */
async function withAddress(deps: TransparentDeps, arrival: Arrival): Promise<Arrival> {
  if (arrival.host !== null || arrival.address !== null) return arrival
  // Without the address there is still a record.
  const destination = await deps.destinationOf(arrival.socket).catch(() => null)
  return destination === null ? arrival : { ...arrival, ...destination }
}

async function recordUnsupported(deps: TransparentDeps, arrival: Arrival, what: string): Promise<void> {
  const { credentials, port } = arrival
  const host = arrival.host ?? arrival.address
  const target = `${host?.includes(':') === true ? `[${host}]` : (host ?? 'unknown')}:${port ?? 0}`
  const detail = `${what} is not let through; connect with TLS and a server name, or list host and port in egress.tcp`
  const isUnowned = host !== null && port !== null && deps.isUnowned(host, port)
  const exchange = newExchange({
    id: deps.newRequestId(),
    acceptedAt: performance.now(),
    timeMs: Date.now(),
    kind: 'tunnel',
    transport: 'connect',
    raw: {
      method: 'CONNECT',
      target,
      rawHeaders: [],
      httpVersion: '1.1',
      scheme: 'https',
      sources: host === null ? {} : { connectAuthority: target },
    },
    credentials,
    body: EMPTY_BODY,
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
