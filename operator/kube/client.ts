import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import { text } from 'node:stream/consumers'
import type { KubeConfig } from '@kubernetes/client-node'
import { kubeFailure, unreachable } from './kube-failure.ts'

export type KubeCall = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly contentType?: string
  /** Asks for metadata alone: of one object (also of each that a watch sends), or of a list. */
  readonly metadata?: 'object' | 'list'
  readonly signal?: AbortSignal
  /** Default 30 s, from the first byte sent to the last received. */
  readonly timeoutMs?: number
}

/**
 * The API server. Calls reject with a ChaperoneError: `not_found`, `conflict`, `gone` (410), `forbidden`, `validation`,
 * `rate_limited` (with the seconds that it asked to wait), `not_ready` for 5xx and when it cannot be reached.
 */
export type KubeClient = Disposable & {
  call<T>(call: KubeCall): Promise<T>
  /** A watch: resolves with the body once the head of a success came. Ends when the signal is aborted. */
  open(
    call: Pick<KubeCall, 'path' | 'query' | 'metadata'> & { readonly signal: AbortSignal },
  ): Promise<http.IncomingMessage>
}

const TIMEOUT_MS = 30_000
const METADATA = {
  object: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
  list: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
} as const
const HEAD_TIMEOUT_MS = 30_000

/** Addresses, trust and credentials come from the KubeConfig, which renews tokens by itself; nothing else of it is used. */
export function createKubeClient(config: KubeConfig): KubeClient {
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new Error('the kubeconfig names no current cluster: set current-context')
  const isTls = cluster.server.startsWith('https:')
  const agent = isTls ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true })

  // A proxy that the kubeconfig names needs its own kind of connection; else connections are kept.
  const own = cluster.proxyUrl ? {} : { agent }
  const server = cluster.server.replace(/\/+$/, '')

  async function send(call: KubeCall, signal: AbortSignal): Promise<http.IncomingMessage> {
    const { method, contentType = 'application/json' } = call
    const accept = call.metadata === undefined ? 'application/json' : METADATA[call.metadata]
    const options: https.RequestOptions = { method, headers: { accept } }
    await config.applyToHTTPSOptions(options)
    const body = call.body === undefined ? undefined : JSON.stringify(call.body)
    const headers: http.OutgoingHttpHeaders = { ...(options.headers as http.OutgoingHttpHeaders) }
    if (body !== undefined) headers['content-type'] = contentType
    const url = urlOf(server, call)
    const request = (isTls ? https : http).request(url, { ...options, ...own, headers, signal })
    const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
    request.end(body)
    const [response] = await answered
    return response
  }

  return {
    async call<T>(call: KubeCall): Promise<T> {
      const limit = AbortSignal.timeout(call.timeoutMs ?? TIMEOUT_MS)
      const signal = call.signal === undefined ? limit : AbortSignal.any([limit, call.signal])
      const { status, body, retryAfter } = await reach(call, async () => {
        const response = await send(call, signal)
        return { status: response.statusCode ?? 0, ...headOf(response), body: await text(response) }
      })
      if (status >= 300) throw kubeFailure(status, body, retryAfter)
      return await reach(call, async () => JSON.parse(body) as T)
    },
    async open({ signal, ...asked }) {
      const call: KubeCall = { method: 'GET', ...asked }
      const limit = new AbortController()
      const timer = setTimeout(() => limit.abort(new Error('no answer in time')), HEAD_TIMEOUT_MS)
      try {
        const response = await reach(call, () => send(call, AbortSignal.any([signal, limit.signal])))
        if (response.statusCode === 200) return response
        const body = await reach(call, () => text(response))
        throw kubeFailure(response.statusCode ?? 0, body, headOf(response).retryAfter)
      } finally {
        clearTimeout(timer)
      }
    },
    [Symbol.dispose]() {
      agent.destroy()
    },
  }
}

function urlOf(server: string, { path, query = {} }: KubeCall): URL {
  const url = new URL(server + path)
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, String(value))
  return url
}

function headOf(response: http.IncomingMessage): { retryAfter?: string } {
  const value = response.headers['retry-after']
  return value === undefined ? {} : { retryAfter: value }
}

async function reach<T>({ method, path }: KubeCall, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw unreachable(`${method} ${path}: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
  }
}
