import { once } from 'node:events'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { ChaperoneError } from '../../../core/errors.ts'
import { isConfidential } from '../../../core/loopback.ts'
import {
  checkedAddresses,
  hostOf,
  pinnedLookup,
  type Reach,
  type Resolve,
} from '../../../core/request/outbound-address.ts'
import { type EgressProxy, NO_PROXY } from '../../egress-proxy.ts'

/** Options that the OIDC client library passes to `fetch`. */
export type FetchInit = {
  readonly method?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | URLSearchParams | Uint8Array | ArrayBuffer | ReadableStream | null | undefined
  readonly signal?: AbortSignal | undefined
}
export type CheckedFetch = (url: string, init?: FetchInit) => Promise<Response>

const MAX_BYTES = 1024 * 1024
/** HTTP statuses with which the constructor of `Response` allows no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * Returns a `fetch` for the addresses of the identity provider, including those in its discovery document, and for
 * token endpoints. `reach`: allowed networks; default: public and private. Metadata services and link-local addresses
 * are always refused, and plain HTTP is allowed on loopback only. Connects to the checked addresses, or through the
 * proxy, which resolves the host names. Follows no redirects, and refuses responses above 1 MiB. Rejects with a
 * TypeError like `fetch`, with the reason as `cause`; after an abort, rejects with the reason of the signal.
 */
export function createCheckedFetch(
  resolve: Resolve,
  proxy: EgressProxy = NO_PROXY,
  reach: Reach = 'private',
): CheckedFetch {
  return async (text, init = {}) => {
    try {
      return await exchange(new URL(text), init, { resolve, proxy, reach })
    } catch (cause) {
      if (init.signal?.aborted === true) throw init.signal.reason
      throw new TypeError(cause instanceof Error ? cause.message : String(cause), { cause })
    }
  }
}

type Connect = { readonly resolve: Resolve; readonly proxy: EgressProxy; readonly reach: Reach }

async function exchange(url: URL, init: FetchInit, { resolve, proxy, reach }: Connect): Promise<Response> {
  const { method = 'GET', headers = {}, signal } = init
  if (!isConfidential(url.href)) throw refused(`the URL of ${url.host} must begin with https://`)
  const agent = proxy.agentFor(url)
  const isProxied = agent !== undefined
  const checking = checkedAddresses(hostOf(url), reach, isProxied ? async () => [] : resolve)
  const checked = await unlessAborted(checking, signal)
  if (!checked.ok) throw refused(`${url.hostname} resolves to ${checked.address}, ${checked.refusal.why}`)
  const { addresses } = checked
  if (addresses.length === 0 && !isProxied) throw new Error(`${url.hostname} has no address`)
  const body = init.body == null ? undefined : Buffer.from(await new Response(init.body).arrayBuffer())
  const length = body === undefined ? {} : { 'content-length': String(body.length) }
  const options = {
    method,
    ...(agent === undefined
      ? { agent: false, lookup: pinnedLookup(addresses), autoSelectFamily: addresses.length > 1 }
      : { agent }),
    headers: { ...headers, ...length, 'accept-encoding': 'identity' },
    ...(signal === undefined ? {} : { signal }),
  }
  const out = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, options)
  out.end(body)
  const [answer] = (await once(out, 'response')) as [IncomingMessage]
  return responseOf(answer, await bodyOf(answer))
}

async function bodyOf(answer: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`the answer has more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function responseOf(answer: IncomingMessage, body: Buffer<ArrayBuffer>): Response {
  const headers = new Headers()
  for (let i = 0; i < answer.rawHeaders.length; i += 2)
    headers.append(answer.rawHeaders[i] ?? '', answer.rawHeaders[i + 1] ?? '')
  const status = answer.statusCode ?? 0
  return new Response(WITHOUT_BODY.has(status) ? null : body, { status, headers })
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  const { promise, reject } = Promise.withResolvers<never>()
  if (signal.aborted) reject(signal.reason)
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return Promise.race([work, promise])
}

function refused(why: string): ChaperoneError {
  return new ChaperoneError('address_refused', { detail: `${why}: nothing was sent.` })
}
