import { readFile } from 'node:fs/promises'
import { Agent, request } from 'undici'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ControlPlaneConfig } from '../../config.ts'

export type KubeApi = {
  /** Null for 404. Rejects with what to change for every other status from 400. */
  call(method: 'GET' | 'POST' | 'PATCH', path: string, body?: object): Promise<unknown>
}

const TIMEOUT_MS = 15_000

/** Runs `work` with the cluster's API, as the ServiceAccount of this pod. */
export async function withKubeApi<T>(
  { url, caFile, tokenFile }: NonNullable<ControlPlaneConfig['kubeApi']>,
  work: (api: KubeApi) => Promise<T>,
): Promise<T> {
  const dispatcher = new Agent({ connect: { ca: await readFile(caFile, 'utf8') } })
  const token = (await readFile(tokenFile, 'utf8')).trim()
  try {
    return await work({
      async call(method, path, body) {
        const patch = 'application/apply-patch+yaml'
        const reply = await request(url + path, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': method === 'PATCH' ? patch : 'application/json',
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          dispatcher,
          signal: AbortSignal.timeout(TIMEOUT_MS),
        })
        const text = await reply.body.text()
        if (reply.statusCode === 404) return null
        if (reply.statusCode < 400) return JSON.parse(text)
        throw new ChaperoneError(reply.statusCode < 500 ? 'forbidden' : 'not_ready', {
          detail: `the cluster's API answered ${reply.statusCode} to ${method} ${path}: ${text.slice(0, 300)}`,
        })
      },
    })
  } finally {
    await dispatcher.destroy()
  }
}
