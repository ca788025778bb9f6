import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { openConnection } from '../../controlplane/cli/cluster/connection.ts'
import { createKubectl } from '../../controlplane/cli/cluster/kubectl.ts'
import { SYSTEM } from './installation.ts'
import { kubeTools } from './tools/kube-tools.ts'

export type ControlPlane = AsyncDisposable & {
  /** As the user of the kubeconfig, or with another bearer token. Rejects for every status from 400. */
  call<T>(method: Method, path: string, body?: object, bearer?: string): Promise<T>
}
type Method = 'GET' | 'POST' | 'DELETE'

/** The control plane as `kubectl chaperone` reaches it, through the API server. */
export async function openControlPlane(): Promise<ControlPlane> {
  const tools = await kubeTools()
  if (tools === null) throw new Error('no kubectl')
  const connection = await openConnection(
    createKubectl([], { ...process.env, KUBECTL: tools.kubectl }),
    SYSTEM,
  )
  const close = () => connection[Symbol.asyncDispose]()
  const closeAtExit = () => void close()
  process.once('exit', closeAtExit)
  const { env } = connection
  const ca = readFileSync(env.NODE_EXTRA_CA_CERTS)
  const isByCertificate = env.CHAPERONE_CLIENT_CERT !== ''
  const identity = isByCertificate ? { cert: env.CHAPERONE_CLIENT_CERT, key: env.CHAPERONE_CLIENT_KEY } : {}
  const own: Record<string, string> = isByCertificate
    ? { 'x-service-caller': 'certificate' }
    : { authorization: `Bearer ${env.CHAPERONE_TOKEN}` }
  return {
    async call<T>(method: Method, path: string, body?: object, bearer?: string): Promise<T> {
      const credential = bearer === undefined ? own : { authorization: `Bearer ${bearer}` }
      const asked = request({
        ...{ host: '127.0.0.1', port: new URL(env.CHAPERONE_URL).port, servername: 'localhost', ca, method },
        ...{ path, headers: { ...credential, 'content-type': 'application/json' }, ...identity },
        // On a busy machine the server may close an idle connection at the moment when a request is sent on it.
        agent: false,
      })
      asked.end(body === undefined ? undefined : JSON.stringify(body))
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        asked.once('response', resolve).once('error', reject)
      })
      const answer = await text(response)
      if ((response.statusCode ?? 0) >= 400)
        throw new Error(`${method} ${path}: ${response.statusCode} ${answer}`)
      return JSON.parse(answer) as T
    },
    async [Symbol.asyncDispose]() {
      process.removeListener('exit', closeAtExit)
      await close()
    },
  }
}
