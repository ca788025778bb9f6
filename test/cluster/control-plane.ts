import { spawn } from 'node:child_process'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { SYSTEM } from './installation.ts'
import { kube } from './kubectl.ts'
import { kubeTools } from './tools/kube-tools.ts'

export type ControlPlane = AsyncDisposable & {
  /** As an administrator, or with another bearer token. Rejects for every status from 400. */
  call<T>(method: 'GET' | 'POST', path: string, body?: object, bearer?: string): Promise<T>
}

/** The control plane as a person reaches it, through the API server. */
export async function openControlPlane(): Promise<ControlPlane> {
  const tools = await kubeTools()
  if (tools === null) throw new Error('no kubectl')
  const token = decoded(
    await kube(['get', 'secret', 'chaperone-keys', '-n', SYSTEM, '-o', 'jsonpath={.data.admin\\.token}']),
  )
  const ca = await kube([
    'get',
    'configmap',
    'chaperone-control-plane-authority',
    '-n',
    SYSTEM,
    '-o',
    'jsonpath={.data.ca\\.crt}',
  ])
  const forward = spawn(
    tools.kubectl,
    ['port-forward', '-n', SYSTEM, 'service/chaperone-control-plane', ':443'],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const kill = () => void forward.kill()
  process.once('exit', kill)
  const port = await new Promise<number>((resolve, reject) => {
    forward.stdout.on('data', (chunk: Buffer) => {
      const found = /127\.0\.0\.1:(\d+)/.exec(chunk.toString())?.[1]
      if (found !== undefined) resolve(Number(found))
    })
    forward.once('exit', (code) => reject(new Error(`kubectl port-forward ended with ${code}`)))
  })
  return {
    async call<T>(method: 'GET' | 'POST', path: string, body?: object, bearer = token): Promise<T> {
      const asked = request({
        ...{ host: '127.0.0.1', port, servername: 'localhost', ca, method, path },
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      })
      asked.end(body === undefined ? undefined : JSON.stringify(body))
      const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
        asked.once('response', resolve).once('error', reject)
      })
      const answer = await text(response)
      if ((response.statusCode ?? 0) >= 400)
        throw new Error(`${method} ${path}: ${response.statusCode} ${answer}`)
      return JSON.parse(answer) as T
    },
    async [Symbol.asyncDispose]() {
      process.removeListener('exit', kill)
      forward.kill()
    },
  }
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8').trim()
}
