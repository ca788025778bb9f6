import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import { text } from 'node:stream/consumers'

/** Address of an API server, and the CA certificate and credentials for requests to it. */
export type KubeAccess = {
  /** URL without a trailing slash. */
  readonly server: string
  /** True when the kubeconfig names a proxy. Connections through the proxy are not kept alive. */
  readonly usesProxy: boolean
  /** Adds the CA certificate and the credentials to the options of one request. Rejects when they cannot be read. */
  applyTo(options: https.RequestOptions): Promise<void>
}

export type KubeCall = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly contentType?: string
  /**
   * Requests only metadata: `object` for one object or a watch of objects, `list` for a list. Default: whole objects.
   */
  readonly metadata?: 'object' | 'list'
  readonly signal?: AbortSignal
  /** Timeout in ms, from the first byte sent to the last byte received. Default 30 s. */
  readonly timeoutMs?: number
}

export type KubeResponse = {
  readonly status: number
  readonly body: string
  /** Value of the response header `retry-after`. */
  readonly retryAfter?: string
}

/**
 * HTTP transport to one API server. `send` and `open` reject when the server is unreachable and after the
 * timeout.
 */
export type KubeTransport = Disposable & {
  /** Resolves with the complete response, whatever its status. */
  send(call: KubeCall): Promise<KubeResponse>
  /** Resolves when the response head has arrived, whatever its status. `signal` aborts the request and the body. */
  open(call: KubeCall, signal: AbortSignal): Promise<http.IncomingMessage>
}

export type TransportOptions = {
  /** Maximum number of concurrent connections. Default: no limit. */
  readonly maxConnections?: number
  /**
   * Milliseconds after which an unused connection is closed. Default: the connection stays open until the server closes it.
   */
  readonly idleMs?: number
}

const TIMEOUT_MS = 30_000
const METADATA = {
  object: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
  list: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
} as const

export function createKubeTransport(access: KubeAccess, options: TransportOptions = {}): KubeTransport {
  const { maxConnections: maxSockets = Number.POSITIVE_INFINITY, idleMs } = options
  const isTls = access.server.startsWith('https:')
  const kept = { keepAlive: true, maxSockets, ...(idleMs === undefined ? {} : { timeout: idleMs }) }
  const agent = isTls ? new https.Agent(kept) : new http.Agent(kept)
  const own = access.usesProxy ? {} : { agent }

  async function open(call: KubeCall, signal: AbortSignal): Promise<http.IncomingMessage> {
    const { method, contentType = 'application/json' } = call
    const accept = call.metadata === undefined ? 'application/json' : METADATA[call.metadata]
    const request: https.RequestOptions = { method, headers: { accept } }
    await access.applyTo(request)
    const body = call.body === undefined ? undefined : JSON.stringify(call.body)
    const headers: http.OutgoingHttpHeaders = { ...(request.headers as http.OutgoingHttpHeaders) }
    if (body !== undefined) headers['content-type'] = contentType
    const url = urlOf(access.server, call)
    const sent = (isTls ? https : http).request(url, { ...request, ...own, headers, signal })
    const answered = once(sent, 'response') as Promise<[http.IncomingMessage]>
    sent.end(body)
    const [response] = await answered
    return response
  }

  return {
    open,
    async send(call) {
      const limit = AbortSignal.timeout(call.timeoutMs ?? TIMEOUT_MS)
      const signal = call.signal === undefined ? limit : AbortSignal.any([limit, call.signal])
      const response = await open(call, signal)
      return { status: response.statusCode ?? 0, ...retryAfterOf(response), body: await text(response) }
    },
    [Symbol.dispose]() {
      agent.destroy()
    },
  }
}

export function retryAfterOf({ headers }: http.IncomingMessage): Pick<KubeResponse, 'retryAfter'> {
  const value = headers['retry-after']
  return value === undefined ? {} : { retryAfter: value }
}

function urlOf(server: string, { path, query = {} }: KubeCall): URL {
  const url = new URL(server + path)
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, String(value))
  return url
}
