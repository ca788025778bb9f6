import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { createKubeTransport, type KubeAccess, type KubeCall, retryAfterOf } from '../../kube/transport.ts'
import { kubeFailure, unreachable } from './kube-failure.ts'

/**
 * Client of the API server. Calls reject with a ChaperoneError: `unauthorized`, `forbidden`, `not_found`, `conflict`,
 * `gone` (410), `validation` or `rate_limited`; `not_ready` for any other status and for network errors. The error
 * contains the seconds of Retry-After.
 */
export type KubeClient = Disposable & {
  call<T>(call: KubeCall): Promise<T>
  /** Opens a watch. Resolves with the body after a 200. The body ends when the signal is aborted. */
  open(
    call: Pick<KubeCall, 'path' | 'query' | 'metadata'> & { readonly signal: AbortSignal },
  ): Promise<IncomingMessage>
}

const HEAD_TIMEOUT_MS = 30_000

export function createKubeClient(access: KubeAccess): KubeClient {
  const transport = createKubeTransport(access)
  return {
    async call<T>(call: KubeCall): Promise<T> {
      const { status, body, retryAfter } = await reach(call, () => transport.send(call))
      if (status >= 300) throw kubeFailure(status, body, retryAfter)
      return await reach(call, async () => JSON.parse(body) as T)
    },
    async open({ signal, ...asked }) {
      const call: KubeCall = { method: 'GET', ...asked }
      const limit = new AbortController()
      const timer = setTimeout(
        () => limit.abort(new Error('the API server did not answer in time')),
        HEAD_TIMEOUT_MS,
      )
      try {
        const either = AbortSignal.any([signal, limit.signal])
        const response = await reach(call, () => transport.open(call, either))
        if (response.statusCode === 200) return response
        const body = await reach(call, () => text(response))
        throw kubeFailure(response.statusCode ?? 0, body, retryAfterOf(response).retryAfter)
      } finally {
        clearTimeout(timer)
      }
    },
    [Symbol.dispose]: () => transport[Symbol.dispose](),
  }
}

async function reach<T>({ method, path }: KubeCall, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw unreachable(`${method} ${path}: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
  }
}
