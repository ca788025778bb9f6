import { ChaperoneError } from '../../../core/errors.ts'
import { createPodAccess, type PodApi } from '../../../kube/pod-access.ts'
import { createKubeTransport } from '../../../kube/transport.ts'

export type KubeApi = {
  /** Returns the parsed response; null for status 404. Rejects for every other status of 400 and above. */
  call(method: 'GET' | 'POST' | 'PATCH', path: string, body?: object): Promise<unknown>
}

const TIMEOUT_MS = 15_000
const APPLY_PATCH = 'application/apply-patch+yaml'

/** Runs `work` with a client of the Kubernetes API that uses the ServiceAccount of this pod. */
export async function withKubeApi<T>(api: PodApi, work: (api: KubeApi) => Promise<T>): Promise<T> {
  using transport = createKubeTransport(createPodAccess(api))
  return await work({
    async call(method, path, body) {
      const { status, body: text } = await transport.send({
        method,
        path,
        ...(body === undefined ? {} : { body }),
        ...(method === 'PATCH' ? { contentType: APPLY_PATCH } : {}),
        timeoutMs: TIMEOUT_MS,
      })
      if (status === 404) return null
      if (status < 400) return JSON.parse(text)
      throw new ChaperoneError(status < 500 ? 'forbidden' : 'not_ready', {
        detail: `The Kubernetes API answered ${status} to ${method} ${path}: ${text.slice(0, 300)}`,
      })
    },
  })
}
