import { readFile } from 'node:fs/promises'
import { Agent, buildConnector, request } from 'undici'
import { ChaperoneError } from '../../../../core/errors.ts'
import type { KubeApi } from './token-review.ts'

export type KubeClient = {
  /** The object; null when it is absent or may not be read. Rejects with `not_ready` when the cluster does not answer. */
  get(path: string): Promise<unknown>
  /** The created object. Rejects with `not_ready` when the cluster does not answer, or does not let this pod create it. */
  create(path: string, object: object): Promise<unknown>
  close(): Promise<void>
}

const TIMEOUT_MS = 5_000

/** Reads the cluster's API as the ServiceAccount of this pod; both files are read for every call. */
export function createKubeClient({ url, caFile, tokenFile }: KubeApi): KubeClient {
  const connect: buildConnector.connector = (options, callback) => {
    readFile(caFile, 'utf8').then(
      (ca) => buildConnector({ ca, timeout: TIMEOUT_MS })(options, callback),
      (error: Error) => callback(error, null),
    )
  }
  const dispatcher = new Agent({ connect, connections: 8, keepAliveTimeout: 10_000 })
  const ask = async (path: string, object?: object) => {
    const authorization = `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}`
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const reply = await request(url + path, {
      headers: { authorization, 'content-type': 'application/json' },
      ...(object === undefined ? {} : { method: 'POST', body: JSON.stringify(object) }),
      ...{ dispatcher, signal },
    })
    return { status: reply.statusCode, text: await reply.body.text() }
  }
  return {
    async get(path) {
      const { status, text } = await ask(path).catch(unreachable)
      if (status === 200) return JSON.parse(text)
      if (status === 403 || status === 404) return null
      return unreachable(new Error(`status ${status}`))
    },
    async create(path, object) {
      const { status, text } = await ask(path, object).catch(unreachable)
      if (status === 200 || status === 201) return JSON.parse(text)
      if (status === 403) throw notAllowed(path)
      return unreachable(new Error(`status ${status}`))
    },
    close: () => dispatcher.destroy(),
  }
}

function unreachable(cause: unknown): never {
  const detail = "The cluster's API does not answer. Try again in a moment."
  throw new ChaperoneError('not_ready', { detail, retryAfterS: 2, cause })
}

function notAllowed(path: string): ChaperoneError {
  const detail = `The control plane's ServiceAccount needs the right to create ${path.split('/').at(-1)}, which the chart gives it.`
  return new ChaperoneError('not_ready', { detail, retryAfterS: 5 })
}
