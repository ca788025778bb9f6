import { ChaperoneError } from '../../../../core/errors.ts'
import { createPodAccess, type PodApi } from '../../../../kube/pod-access.ts'
import { createKubeTransport } from '../../../../kube/transport.ts'

export type KubeClient = {
  /**
   * Returns the object; null when the object does not exist or this pod may not read it. Rejects with `not_ready` when
   * the API server does not answer.
   */
  get(path: string): Promise<unknown>
  /**
   * Creates the object and returns it. Rejects with `not_ready` when the API server does not answer, or does not permit
   * this pod to create the object.
   */
  create(path: string, object: object): Promise<unknown>
  close(): void
}

const TIMEOUT_MS = 5_000

/** Creates a client of the Kubernetes API, which authenticates as the ServiceAccount of this pod. */
export function createKubeClient(api: PodApi): KubeClient {
  const transport = createKubeTransport(createPodAccess(api), { maxConnections: 8, idleMs: 10_000 })
  return {
    async get(path) {
      const call = { method: 'GET', path, timeoutMs: TIMEOUT_MS } as const
      const { status, body } = await transport.send(call).catch(unreachable)
      if (status === 200) return JSON.parse(body)
      if (status === 403 || status === 404) return null
      return unreachable(new Error(`status ${status}`))
    },
    async create(path, object) {
      const call = { method: 'POST', path, body: object, timeoutMs: TIMEOUT_MS } as const
      const { status, body } = await transport.send(call).catch(unreachable)
      if (status === 200 || status === 201) return JSON.parse(body)
      if (status === 403) throw notAllowed(path)
      return unreachable(new Error(`status ${status}`))
    },
    close: () => transport[Symbol.dispose](),
  }
}

function unreachable(cause: unknown): never {
  const detail = "The cluster's API does not answer. Try again in a moment."
  throw new ChaperoneError('not_ready', { detail, retryAfterS: 2, cause })
}

function notAllowed(path: string): ChaperoneError {
  const detail = `The cluster's API refused a request of the control plane. The control plane's ServiceAccount needs the right to create ${path.split('/').at(-1)}, which the chart gives it.`
  return new ChaperoneError('not_ready', { detail, retryAfterS: 5 })
}
