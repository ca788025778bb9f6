import { lookup } from 'node:dns/promises'
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { refusedAddress } from '../../../core/request/address.ts'
import {
  type Address,
  checkedAddresses,
  hostOf,
  pinnedLookup,
  type Resolve,
} from '../../../core/request/outbound-address.ts'
import { sleep } from '../../../runtime/sleep.ts'

/**
 * Address of a gateway. The host name is resolved and checked once, and calls connect only to the checked addresses.
 */
export type GatewayAddress = { readonly url: URL; readonly addresses: readonly Address[] }

export type Call = {
  readonly method: string
  /** Request target: a path, or absolute-form for a proxy. */
  readonly target: string
  /** Names and values of the header fields, alternating. */
  readonly headers: readonly string[]
  readonly body: Buffer | null
  readonly timeoutMs: number
  /** Maximum size of the response body in bytes. A longer body is truncated, and `isWhole` is false. */
  readonly maxBytes: number
}

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Buffer
  readonly isWhole: boolean
}

/**
 * A failed call to a gateway. `isSent`: the connection was established, so the gateway may have received the request.
 * `isLate`: the call exceeded its time limit.
 */
export class CallError extends Error {
  readonly isSent: boolean
  readonly isLate: boolean
  constructor(message: string, given: { isSent: boolean; isLate: boolean; cause?: unknown }) {
    super(message, { cause: given.cause })
    this.isSent = given.isSent
    this.isLate = given.isLate
  }
}

export const resolveByDns: Resolve = (host) => lookup(host, { all: true, order: 'verbatim' })

/**
 * Resolves and checks the address of a gateway. Returns the checked addresses, or the reason why the address is
 * refused. Private networks are allowed, because an administrator configured the address. Addresses of cloud metadata
 * services are refused.
 */
export async function checkAddress(text: string, resolve: Resolve): Promise<GatewayAddress | string> {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    return 'it must be an http or https URL without user name and password'
  const checked = await checkedAddresses(hostOf(url), 'private', (host) => resolveInTime(resolve, host))
  if (!checked.ok) return `${url.hostname} resolves to ${checked.address}, ${checked.refusal.why}`
  if (checked.addresses.length === 0) return `the name ${url.hostname} does not resolve`
  return { url, addresses: checked.addresses }
}

/**
 * Returns the reason why no agent key may be sent to the address; null when a key may be sent. HTTP without TLS is
 * allowed only within a private network.
 */
export function exposesKey({ url, addresses }: GatewayAddress): string | null {
  if (url.protocol === 'https:') return null
  const open = addresses.find(({ address }) => refusedAddress(address, false) === null)
  return open === undefined
    ? null
    : `${url.hostname} has the public address ${open.address}, which requires https`
}

const RESOLVE_MS = 2_000

async function resolveInTime(resolve: Resolve, host: string): Promise<readonly Address[]> {
  const stop = new AbortController()
  const late = sleep(RESOLVE_MS, stop.signal).then(() => [])
  const found = await Promise.race([resolve(host).catch(() => []), late])
  stop.abort()
  return found
}

/** Sends one request on a new connection. Follows no redirects and does not retry. Rejects with `CallError`. */
export function callGateway({ url, addresses }: GatewayAddress, call: Call): Promise<Answer> {
  const isTls = url.protocol === 'https:'
  const limit = AbortSignal.timeout(call.timeoutMs)
  const options = {
    host: hostOf(url),
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    method: call.method,
    path: call.target,
    headers: [...call.headers],
    setHost: false,
    agent: false,
    lookup: pinnedLookup(addresses),
    signal: limit,
    autoSelectFamily: addresses.length > 1,
  }
  const out = (isTls ? requestHttps : requestHttp)(options)
  return new Promise((resolve, reject) => {
    const stood = watchConnection(out, isTls ? 'secureConnect' : 'connect')
    const fail = (cause: Error) => reject(failure(cause, { isSent: stood(), isLate: limit.aborted, url }))
    out.on('error', fail)
    out.on('response', (response) => {
      response.on('error', fail)
      collect(response, call.maxBytes, resolve)
    })
    out.end(call.body ?? undefined)
  })
}

function watchConnection(out: ClientRequest, event: string): () => boolean {
  let stood = false
  out.on('socket', (socket) => {
    socket.once(event, () => {
      stood = true
    })
  })
  return () => stood
}

function collect(response: IncomingMessage, limit: number, done: (answer: Answer) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  const finish = (isWhole: boolean) =>
    done({
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: Buffer.concat(chunks),
      isWhole,
    })
  response.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= limit) chunks.push(chunk)
    else response.destroy()
  })
  response.on('end', () => finish(true))
  response.on('close', () => size > limit && finish(false))
}

/**
 * Returns the error of a failed call. The message names the host and the kind of failure, but no part of the request.
 */
function failure(
  cause: Error,
  { isSent, isLate, url }: { isSent: boolean; isLate: boolean; url: URL },
): CallError {
  const code = 'code' in cause ? String(cause.code) : cause.name
  const why = isLate ? 'did not answer in time' : (distrust(code) ?? `cannot be reached (${code})`)
  return new CallError(`${url.host} ${why}`, { isSent, isLate, cause })
}

/** Node's error codes for a certificate that does not prove the identity of the gateway. */
const DISTRUST = /^(ERR_TLS_CERT_ALTNAME_INVALID|CERT_\w+|\w+_CERT\w*|UNABLE_TO_\w+|HOSTNAME_MISMATCH)$/

function distrust(code: string): string | null {
  if (!DISTRUST.test(code)) return null
  return `has a certificate that is not trusted (${code}; set NODE_EXTRA_CA_CERTS of the control plane to a file with your own CA certificate)`
}
