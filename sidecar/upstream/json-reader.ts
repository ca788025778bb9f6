import type { LookUp } from '../../core/connectors/binding/look-up.ts'
import { connectorScheme } from '../../core/connectors/credentials/connector-scheme.ts'
import type { BoundConnector } from '../../core/connectors/registry.ts'
import { authorityText } from '../../core/request/authority-text.ts'
import { type CanonicalRequest, isRefusal, type RawHeaders } from '../../core/request/canonical.ts'
import { canonicalise } from '../../core/request/canonicalise.ts'
import type { ResponseHandler } from './answer-receiver.ts'
import type { Dialer } from './dial.ts'
import { outboundHeaders } from './headers.ts'
import type { UpstreamConnection, WireRequest } from './http1/connection.ts'
import { createPool } from './http1/pool.ts'
import { targetOf } from './target.ts'

export type JsonReader = {
  /**
   * Resolves with the JSON of a response with status 200. Rejects for any other status, after 5 s, and beyond 1 MiB.
   */
  read(reading: Reading): Promise<unknown>
  close(): void
}

export type Reading = {
  readonly bound: BoundConnector
  /** Request that causes the look-up. The look-up uses the scheme and port of this request. */
  readonly request: CanonicalRequest
  readonly question: Pick<LookUp, 'method' | 'host' | 'target' | 'body'>
}

export type JsonReaderDeps = {
  readonly dialer: Dialer
  readonly monotonicMs: () => number
  readonly readTimeoutMs?: number
}

/** User-Agent of look-ups, by which the provider's audit log shows them as requests of the gateway itself. */
const LOOK_UP_AGENT = 'chaperone-look-up'

const TIMEOUT_MS = 5_000
const MAX_BYTES = 1024 * 1024

/**
 * Creates the reader for look-ups at a provider. The reader checks addresses, injects the credential of the connector,
 * and has its own connection pool.
 */
export function createJsonReader({
  dialer,
  monotonicMs,
  readTimeoutMs = TIMEOUT_MS,
}: JsonReaderDeps): JsonReader {
  const pool = createPool(dialer, monotonicMs)

  async function read({ bound, request, question }: Reading): Promise<unknown> {
    const asked = requestFor(request, question)
    const target = targetOf(bound.entry, asked)
    const headers = withCredential(bound, asked)
    const whole = new WholeAnswer(readTimeoutMs)
    const wire: WireRequest = {
      method: question.method,
      path: target.pathPrefix + asked.rawTarget,
      host: target.hostHeader,
      headText: null,
      headers: outboundHeaders(headers, target.hostHeader, undefined),
      upgrade: null,
      body: question.body === undefined ? null : Buffer.from(question.body),
      onBodyChunk: null,
    }
    const connection = pool.take(target) ?? pool.dial(target)
    Promise.resolve(connection).then(
      (open) => whole.sendOn(open, wire),
      (error: Error) => whole.error(error),
    )
    return JSON.parse((await whole.done).toString('utf8'))
  }

  return { read, close: pool.close }
}

function requestFor(
  { scheme, port }: CanonicalRequest,
  { method, host, target, body }: Reading['question'],
): CanonicalRequest {
  const standard = scheme === 'https' ? 443 : 80
  const authority = authorityText(host, port, standard)
  const rawHeaders = [
    ...['Host', authority, 'User-Agent', LOOK_UP_AGENT, 'Accept', 'application/json'],
    ...(body === undefined ? [] : ['Content-Type', 'application/json']),
  ]
  const request = canonicalise({ method, target, rawHeaders, httpVersion: '1.1', scheme, sources: {} })
  if (isRefusal(request)) throw new Error(request.detail)
  return request
}

/** Returns the headers with the credential of the connector. Throws when the connector has no credential. */
function withCredential(bound: BoundConnector, request: CanonicalRequest): RawHeaders {
  const { secret } = bound.entry
  const scheme = connectorScheme(bound)
  const edit = { rawHeaders: [...request.rawHeaders], rawTarget: request.rawTarget }
  if (scheme.type === 'none') return edit.rawHeaders
  if (secret === null) throw new Error('the connector has no credential')
  bound.connector.injectCredentials(edit, secret, scheme, request)
  return edit.rawHeaders
}

/** Buffers one response in memory. */
class WholeAnswer implements ResponseHandler {
  readonly done: Promise<Buffer>
  readonly #settle: PromiseWithResolvers<Buffer>
  readonly #timer: NodeJS.Timeout
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #connection: UpstreamConnection | null = null
  #isOver = false

  constructor(timeoutMs: number) {
    this.#settle = Promise.withResolvers<Buffer>()
    this.done = this.#settle.promise
    this.#timer = setTimeout(() => this.#fail(new Error('the provider did not answer in time')), timeoutMs)
  }

  sendOn(connection: UpstreamConnection, request: WireRequest): void {
    if (this.#isOver) {
      connection.socket.destroy()
      return
    }
    this.#connection = connection
    connection.send(request, this)
  }

  interim(): void {}

  head(status: number): void {
    if (status !== 200) this.#fail(new Error(`the provider answered ${status}`))
  }

  data(chunk: Buffer): boolean {
    this.#bytes += chunk.length
    if (this.#bytes > MAX_BYTES) this.#fail(new Error('the answer is too long'))
    else this.#chunks.push(chunk)
    return true
  }

  end(): void {
    this.#connection = null
    this.#over()
    this.#settle.resolve(Buffer.concat(this.#chunks))
  }

  upgrade(): void {
    this.#fail(new Error('the provider switched protocols'))
  }

  error(error: Error): void {
    this.#connection = null
    this.#fail(error)
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#over()
    this.#settle.reject(error)
    this.#connection?.abort(error)
  }

  #over(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }
}
