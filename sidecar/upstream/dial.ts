import { lookup } from 'node:dns/promises'
import { connect as connectTcp, type Socket } from 'node:net'
import {
  checkServerIdentity,
  connect as connectTls,
  createSecureContext,
  getCACertificates,
  type SecureContext,
} from 'node:tls'
import { ChaperoneError } from '../../core/errors.ts'
import type { AddressRefusal } from '../../core/request/address.ts'
import {
  type Address,
  checkedAddresses,
  pinnedLookup,
  type Resolve,
} from '../../core/request/outbound-address.ts'
import { LIMITS } from '../../core/wire/schema/limits.ts'
import type { UpstreamTarget } from './target.ts'

export type Dialer = {
  /**
   * Opens a connection. Resolves when data can be sent (TLS verified). Rejects with `address_refused`, `upstream_tls`,
   * `upstream_timeout` or `upstream_failed`; no credential was sent then.
   */
  dial(target: UpstreamTarget, alpn?: readonly string[]): Promise<Socket>
  /** Opens a connection without TLS, for tunnels in which the agent itself uses TLS with the server. */
  dialRaw(target: UpstreamTarget): Promise<Socket>
}

export type DialerOptions = { readonly resolve?: Resolve; readonly connectTimeoutMs?: number }

export const resolveByDns: Resolve = (host) => lookup(host, { all: true, order: 'verbatim' })

const HTTP1 = ['http/1.1'] as const
const ATTEMPT_MS = 250

export function createDialer(options: DialerOptions = {}): Dialer {
  const resolve = options.resolve ?? resolveByDns
  const timeoutMs = options.connectTimeoutMs ?? LIMITS.connectTimeoutMs
  const contexts = new Map<string, SecureContext>()
  const sessions = new Map<string, Buffer>()

  async function dial(target: UpstreamTarget, alpn: readonly string[] = HTTP1): Promise<Socket> {
    if (!target.isTls) return dialRaw(target)
    const addresses = await addressesOf(resolve, target, timeoutMs)
    const sessionKey = `${target.key}|${alpn.join()}`
    const socket = connectTls({
      ...connection(target, addresses),
      ALPNProtocols: [...alpn],
      servername: target.servername,
      rejectUnauthorized: true,
      checkServerIdentity: (_name, certificate) => identityError(target.identities, certificate),
      secureContext: contextFor(contexts, target.caBundle),
      ...sessionOf(sessions, sessionKey),
    })
    socket.on('session', (session: Buffer) => rememberSession(sessions, sessionKey, session))
    return ready(socket, 'secureConnect', timeoutMs, target)
  }

  async function dialRaw(target: UpstreamTarget): Promise<Socket> {
    const addresses = await addressesOf(resolve, target, timeoutMs)
    return ready(connectTcp(connection(target, addresses)), 'connect', timeoutMs, target)
  }

  return { dial, dialRaw }
}

async function addressesOf(
  resolve: Resolve,
  { host, allowPrivateAddresses }: UpstreamTarget,
  timeoutMs: number,
): Promise<readonly Address[]> {
  const checked = await checkedAddresses(host, allowPrivateAddresses ? 'private' : 'public', (name) =>
    resolveInTime(resolve, name, timeoutMs),
  )
  if (!checked.ok) throw refusedBy(host, checked.address, checked.refusal)
  if (checked.addresses.length === 0) throw failed(host, 'the host name has no address')
  return checked.addresses
}

async function resolveInTime(resolve: Resolve, host: string, timeoutMs: number): Promise<readonly Address[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_ok, fail) => {
    timer = setTimeout(() => fail(timedOut(host, timeoutMs)), timeoutMs)
  })
  try {
    return await Promise.race([resolve(host), late])
  } catch (cause) {
    throw cause instanceof ChaperoneError ? cause : failed(host, 'the host name could not be resolved', cause)
  } finally {
    clearTimeout(timer)
  }
}

function connection(target: UpstreamTarget, addresses: readonly Address[]) {
  return {
    host: target.host,
    port: target.port,
    lookup: pinnedLookup(addresses),
    autoSelectFamily: addresses.length > 1,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
    allowHalfOpen: true,
    noDelay: true,
    highWaterMark: 256 * 1024,
  }
}

function ready(socket: Socket, event: string, timeoutMs: number, target: UpstreamTarget): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(timedOut(target.host, timeoutMs)), timeoutMs)
    const onError = (cause: Error) => {
      clearTimeout(timer)
      reject(cause instanceof ChaperoneError ? cause : connectError(target, cause))
    }
    const onClose = () => onError(new Error('the connection was closed before it was ready'))
    socket.on('error', onError)
    socket.once('close', onClose)
    socket.once(event, () => {
      clearTimeout(timer)
      socket.removeListener('close', onClose)
      // The `error` listener stays attached, because an `error` event without a listener would end the process.
      resolve(socket)
    })
  })
}

function connectError(target: UpstreamTarget, cause: Error): ChaperoneError {
  const code = 'code' in cause ? String(cause.code) : ''
  if (code === 'ETIMEDOUT') return timedOut(target.host, LIMITS.connectTimeoutMs)
  if (target.isTls && !NETWORK_CODES.has(code) && !isAggregate(cause)) {
    const detail = `TLS with ${target.host} failed (${code || cause.message}); nothing was sent. Check the certificate of the host, or set upstream.caBundle of the connector.`
    return new ChaperoneError('upstream_tls', { detail, extra: { error_type: 'tls' }, cause })
  }
  return failed(target.host, code || cause.message, cause)
}

const NETWORK_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNABORTED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'ENETDOWN',
  'EHOSTDOWN',
  'EMFILE',
])

function isAggregate(cause: Error): boolean {
  return 'errors' in cause
}

function identityError(
  identities: readonly string[],
  certificate: Parameters<typeof checkServerIdentity>[1],
) {
  let error: Error | undefined
  for (const name of identities) {
    error = checkServerIdentity(name, certificate)
    if (error === undefined) return undefined
  }
  return error
}

function contextFor(contexts: Map<string, SecureContext>, bundle: string | null): SecureContext {
  const key = bundle ?? ''
  const known = contexts.get(key)
  if (known !== undefined) return known
  const ca = bundle === null ? {} : { ca: [...getCACertificates('default'), bundle] }
  const context = createSecureContext({ ...ca, minVersion: 'TLSv1.2' })
  if (contexts.size >= MAX_CONTEXTS) contexts.clear()
  contexts.set(key, context)
  return context
}

const MAX_CONTEXTS = 256
const MAX_SESSIONS = 1_024

function sessionOf(sessions: Map<string, Buffer>, key: string): { session?: Buffer } {
  const session = sessions.get(key)
  return session === undefined ? {} : { session }
}

function rememberSession(sessions: Map<string, Buffer>, key: string, session: Buffer): void {
  if (sessions.size >= MAX_SESSIONS && !sessions.has(key)) sessions.clear()
  sessions.set(key, session)
}

function refusedBy(host: string, address: string, { why, isFinal }: AddressRefusal): ChaperoneError {
  const remedy = isFinal
    ? 'No setting allows such addresses, because they can serve credentials of the machine.'
    : 'If this address is intended, set allowPrivateAddresses: true under upstream of the connector, or for the host in egress.tcp of the gateway.'
  const detail = `${host} resolves to ${address}, ${why}. ${remedy}`
  return new ChaperoneError('address_refused', { detail, extra: { error_type: 'connect' } })
}

function failed(host: string, why: string, cause?: unknown): ChaperoneError {
  const detail = `${host} could not be reached: ${why}. Nothing was sent.`
  return new ChaperoneError('upstream_failed', { detail, extra: { error_type: 'connect' }, cause })
}

function timedOut(host: string, timeoutMs: number): ChaperoneError {
  const detail = `${host} did not accept a connection within ${timeoutMs / 1000} s. Nothing was sent.`
  return new ChaperoneError('upstream_timeout', { detail, extra: { error_type: 'timeout' } })
}
