import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PodApi } from '../../../kube/pod-access.ts'
import { createTestCa } from '../../support/test-ca.ts'

const AUDIENCE = 'chaperone-control-plane'
const OWN_TOKEN = 'token-of-the-control-plane'

export type TestPod = {
  readonly namespace: string
  readonly serviceAccount: string
  readonly name: string
  readonly uid: string
}

/** A cluster's API that knows one thing over real TLS: whose tokens these are. */
export type FakeTokenReview = AsyncDisposable & {
  readonly api: PodApi
  /** Tokens it was asked about. */
  readonly asked: string[]
  /** Creates a token of the pod. The token is valid until `delete` is called. */
  tokenOf(pod: TestPod, audience?: string, claims?: { iat?: number; exp?: number }): string
  /** The pod is deleted: its tokens are no good any more. */
  delete(token: string): void
  /** What is answered instead of a review; null = reviews. */
  status: number | null
  /** What a rejection says. */
  error: string
}

export async function startFakeTokenReview(): Promise<FakeTokenReview> {
  const dir = mkdtempSync(join(tmpdir(), 'chaperone-kube-'))
  const ca = createTestCa()
  writeFileSync(join(dir, 'ca.crt'), ca.cert)
  writeFileSync(join(dir, 'token'), `${OWN_TOKEN}\n`)
  const pods = new Map<string, { readonly pod: TestPod; readonly audience: string }>()
  const asked: string[] = []
  const fake: { status: number | null; error: string } = { status: null, error: 'invalid bearer token' }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const { spec } = JSON.parse(Buffer.concat(parts).toString()) as {
      spec: { token: string; audiences?: readonly string[] }
    }
    const isOurs = request.headers.authorization === `Bearer ${OWN_TOKEN}`
    const isPath = request.url === '/apis/authentication.k8s.io/v1/tokenreviews'
    if (!isOurs || !isPath || fake.status !== null) {
      response.writeHead(fake.status ?? 403, { 'content-type': 'application/json' }).end('{}')
      return
    }
    asked.push(spec.token)
    const found = pods.get(spec.token)
    const isKnown = found !== undefined && spec.audiences?.includes(found.audience) === true
    const status = isKnown ? statusOf(found.pod, found.audience) : { authenticated: false, error: fake.error }
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ status }))
  }
  const server = createServer(ca.issue('127.0.0.1'), (request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(fake, {
    api: { url: `https://127.0.0.1:${port}`, caFile: join(dir, 'ca.crt'), tokenFile: join(dir, 'token') },
    asked,
    tokenOf(pod: TestPod, audience = AUDIENCE, claims = {}) {
      const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
      const token = `${part({ alg: 'RS256' })}.${part({ aud: [audience], jti: randomUUID(), ...claims })}.c2lnbmVk`
      pods.set(token, { pod, audience })
      return token
    },
    delete: (token: string) => void pods.delete(token),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      rmSync(dir, { recursive: true, force: true })
    },
  })
}

function statusOf({ namespace, serviceAccount, name, uid }: TestPod, audience: string): object {
  const extra = {
    'authentication.kubernetes.io/pod-name': [name],
    'authentication.kubernetes.io/pod-uid': [uid],
  }
  const username = `system:serviceaccount:${namespace}:${serviceAccount}`
  return { authenticated: true, audiences: [audience], user: { username, uid: 'u', groups: [], extra } }
}
