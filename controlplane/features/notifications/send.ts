import { lookup } from 'node:dns/promises'
import { type Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { ChaperoneError } from '../../../core/errors.ts'
import {
  type Address,
  type Checked,
  checkedAddresses,
  hostOf,
  pinnedLookup,
  type Reach,
  type Resolve,
} from '../../../core/request/outbound-address.ts'
import { type EgressProxy, NO_PROXY } from '../../egress-proxy.ts'

export type SendRequest = {
  readonly method?: 'GET' | 'POST'
  /** Address of the receiver, http or https. User information in the URL is sent as basic authentication. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  /**
   * Maximum number of bytes of the response body to return. With 0, the promise resolves as soon as the status is
   * known.
   */
  readonly readBytes: number
  readonly signal: AbortSignal
}

export type SendReply = {
  readonly status: number
  /**
   * Value of the header `Retry-After` in seconds, at most one hour. Null when the header is absent or not a number of
   * seconds.
   */
  readonly retryAfterS: number | null
  readonly body: string
}

/**
 * Sends one request to an address that a user or an agent chose. Follows no redirects. Rejects with `address_refused`
 * (nothing was sent), `upstream_timeout` or `upstream_failed`. Error messages contain the host but not the path, which
 * may be secret.
 */
export type Send = (request: SendRequest) => Promise<SendReply>

export type SenderOptions = {
  /** Address ranges in which receivers are allowed; default: public addresses only. */
  readonly reach?: Reach
  readonly resolve?: Resolve
  /**
   * Egress proxy; default: none. With a proxy, only a host that is an IP address is checked, because the proxy
   * resolves host names.
   */
  readonly proxy?: EgressProxy
  /** Time limit in milliseconds from the DNS look-up to the status of the response; default 10 s. */
  readonly timeoutMs?: number
  /** Certificate authorities (PEM) that replace the default certificate authorities of Node. */
  readonly ca?: readonly string[]
}

const TIMEOUT_MS = 10_000
const MAX_RETRY_AFTER_S = 3_600
const DISCARD_BYTES = 64 * 1024
const DISCARD_MS = 2_000

export function createSender(options: SenderOptions = {}): Send {
  const { timeoutMs = TIMEOUT_MS, reach = 'public', ca, proxy = NO_PROXY } = options
  const resolve = options.resolve ?? ((host: string) => lookup(host, { all: true, order: 'verbatim' }))
  return async (request) => {
    const url = new URL(request.url)
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(), timeoutMs)
    const signal = AbortSignal.any([request.signal, limit.signal])
    try {
      const agent = proxy.agentFor(url)
      const isProxied = agent !== undefined
      const checking = addressesOf(hostOf(url), reach, isProxied ? async () => [] : resolve)
      const addresses = await unlessAborted(signal, checking)
      if (addresses.length === 0 && !isProxied) throw new Error('the name has no address')
      return await exchange(open(url, request, { addresses, agent, signal, ca }), request)
    } catch (cause) {
      throw asFailure(cause, { host: url.host, isLate: limit.signal.aborted, timeoutMs })
    } finally {
      clearTimeout(timer)
    }
  }
}

async function addressesOf(host: string, reach: Reach, resolve: Resolve): Promise<readonly Address[]> {
  const checked = await checkedAddresses(host, reach, resolve)
  if (!checked.ok) throw new ChaperoneError('address_refused', { detail: addressRefused(host, checked) })
  return checked.addresses
}

/** Returns the reason why nothing is sent to a host with this address, and the setting that allows the address. */
export function addressRefused(
  host: string,
  { address, refusal }: Extract<Checked, { readonly ok: false }>,
): string {
  const remedy = refusal.isFinal ? '' : ' If this address is intended, add its range to NOTIFY_ALLOW_CIDRS.'
  return `${host} resolves to ${address}, ${refusal.why}: nothing was sent.${remedy}`
}

type Connection = {
  readonly addresses: readonly Address[]
  /**
   * HTTP agent that connects to the egress proxy. Undefined without a proxy; the request then connects to the checked
   * addresses.
   */
  readonly agent: Agent | undefined
  readonly signal: AbortSignal
  readonly ca: readonly string[] | undefined
}

function open(url: URL, request: SendRequest, { addresses, agent, signal, ca }: Connection): ClientRequest {
  const common = {
    method: request.method ?? 'POST',
    ...(agent === undefined
      ? { agent: false, lookup: pinnedLookup(addresses), autoSelectFamily: addresses.length > 1 }
      : { agent }),
    signal,
    headers: { ...request.headers, 'content-length': Buffer.byteLength(request.body) },
  }
  return url.protocol === 'https:'
    ? requestHttps(url, { ...common, ...(ca === undefined ? {} : { ca: [...ca] }) })
    : requestHttp(url, common)
}

function exchange(out: ClientRequest, { body, readBytes }: SendRequest): Promise<SendReply> {
  return new Promise((resolve, reject) => {
    out.on('error', reject)
    out.on('response', (answer) => {
      const head = { status: answer.statusCode ?? 0, retryAfterS: retryAfter(answer.headers['retry-after']) }
      answer.on('error', reject)
      if (readBytes === 0) {
        resolve({ ...head, body: '' })
        const cut = setTimeout(() => answer.destroy(), DISCARD_MS)
        answer.on('close', () => clearTimeout(cut))
      }
      collect(answer, readBytes || DISCARD_BYTES, (text) => resolve({ ...head, body: text }))
    })
    out.end(body)
  })
}

/**
 * Reads the body to its end or to the limit. Also reads a body that is not returned, so that the receiver can
 * complete its response.
 */
function collect(answer: IncomingMessage, limit: number, done: (text: string) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  const finish = () => done(Buffer.concat(chunks).toString('utf8'))
  answer.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= limit) {
      chunks.push(chunk)
      return
    }
    answer.destroy()
    finish()
  })
  answer.on('end', finish)
}

function retryAfter(header: string | undefined): number | null {
  if (header === undefined || !/^\d{1,9}$/.test(header.trim())) return null
  return Math.min(Number(header), MAX_RETRY_AFTER_S)
}

function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  if (signal.aborted) reject(signal.reason)
  return Promise.race([work, promise])
}

function asFailure(
  cause: unknown,
  { host, isLate, timeoutMs }: { host: string; isLate: boolean; timeoutMs: number },
): ChaperoneError {
  if (cause instanceof ChaperoneError) return cause
  if (isLate) {
    const detail = `${host} did not answer within ${timeoutMs / 1_000} s`
    return new ChaperoneError('upstream_timeout', { detail, cause })
  }
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const why = code || (cause instanceof Error ? cause.message : String(cause))
  return new ChaperoneError('upstream_failed', { detail: `${host} could not be reached: ${why}`, cause })
}
