import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { readConfig } from '../../../sidecar/config.ts'
import { createGateway, type Gateway } from '../../../sidecar/gateway.ts'
import { type Recorder, startRecorder } from '../../support/recorder.ts'
import { agentEntry, FakeControlPlane, TOKEN } from '../control/fake-control-plane.ts'

export const UPSTREAM_HOST = 'api.example.test'
export const AGENT_KEY = 'svc_test_key'
export const PROXY_AUTHORIZATION = `Basic ${Buffer.from(`bot:${AGENT_KEY}`).toString('base64')}`

export type Answered = {
  readonly status: number
  readonly headers: Record<string, unknown>
  readonly text: string
}

export type GatewayWorld = AsyncDisposable & {
  readonly fake: FakeControlPlane
  readonly upstream: Recorder
  readonly gateway: Gateway
  readonly dir: string
  readonly internalToken: string
  /** Everything that was logged. */
  readonly log: () => string
  /** A call of the gateway's own API. */
  api(method: string, path: string, options?: ApiOptions): Promise<Answered>
  /** A proxied request in absolute form, by the shared port unless another is given. */
  proxied(method: string, path: string, options?: ProxiedOptions): Promise<Answered>
  restart(): Promise<void>
}

type ApiOptions = { body?: unknown; raw?: string; token?: string | null; headers?: Record<string, string> }
type ProxiedOptions = { port?: number; auth?: string | null; signal?: AbortSignal; body?: string }

/** A gateway with a stand-in control plane and one generic connector that leads to a recorder. */
export async function startGatewayWorld(
  options: {
    permissions?: object[]
    prepare?: (fake: FakeControlPlane) => void
    isAway?: boolean
    agents?: object[]
  } = {},
): Promise<GatewayWorld> {
  const dir = mkdtempSync(join(tmpdir(), 'chaperone-gateway-'))
  writeFileSync(join(dir, 'enrol.token'), TOKEN)
  const upstream = await startRecorder()
  const fake = await FakeControlPlane.start()
  fake.configure({
    agents: [agentEntry('bot', AGENT_KEY), ...(options.agents ?? [])],
    connectors: [genericConnector(upstream.url)],
    'permissions.00': options.permissions ?? [permission('generic.*', 'allow')],
  })
  options.prepare?.(fake)
  const chunks: string[] = []
  const log = pino({ level: 'debug' }, { write: (text: string) => void chunks.push(text) })
  const config = readConfig({
    PORT: '0',
    CONTROL_PLANE_URL: fake.url,
    GATEWAY_TOKEN_FILE: join(dir, 'enrol.token'),
    DATA_DIR: dir,
    CAPTURE_SOCKET: join(dir, 'capture.sock'),
  })
  let gateway = await createGateway(config, log)
  const internalToken = readFileSync(join(dir, 'gateway.token'), 'utf8').trim()

  const world: GatewayWorld = {
    ...{ fake, upstream, dir, internalToken },
    get gateway() {
      return gateway
    },
    log: () => chunks.join(''),
    api(method, path, { body, raw, token = internalToken, headers = {} } = {}) {
      const text = raw ?? (body === undefined ? '' : JSON.stringify(body))
      const auth = token === null ? {} : { authorization: `Bearer ${token}` }
      const type = text === '' ? {} : { 'content-type': 'application/json' }
      return send({ port: gateway.port, method, path, headers: { ...type, ...auth, ...headers }, body: text })
    },
    proxied(method, path, { port = gateway.port, auth = PROXY_AUTHORIZATION, signal, body = '' } = {}) {
      const headers = {
        host: UPSTREAM_HOST,
        ...(auth === null ? {} : { 'proxy-authorization': auth }),
        ...(body === '' ? {} : { 'content-type': 'application/json' }),
      }
      return send({
        port,
        method,
        path: `http://${UPSTREAM_HOST}${path}`,
        headers,
        body,
        ...(signal ? { signal } : {}),
      })
    },
    async restart() {
      await gateway.close()
      gateway = await createGateway(config, log)
    },
    async [Symbol.asyncDispose]() {
      await gateway.close()
      await fake.stop()
      await upstream.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
  return world
}

export function genericConnector(url: string) {
  return {
    ...{ id: 'conn_1', name: 'example', type: 'generic', domains: [UPSTREAM_HOST], ports: [443, 80] },
    ...{ auth: { type: 'bearer' }, secret: 'upstream-secret', tlsMode: 'intercept', errorShape: 'service' },
    upstream: { url, allowPrivateAddresses: true, allowPlaintextCredential: true },
    ...{ actions: [], source: 'api', managed_by: null },
  }
}

export function permission(action_pattern: string, decision: string) {
  return {
    ...{ id: `perm_${action_pattern}`, agent: '*', connector_type: 'generic', action_pattern, decision },
    ...{ reason: null, source: 'api', managed_by: null },
  }
}

type Call = {
  port: number
  method: string
  path: string
  headers: Record<string, string>
  body: string
  signal?: AbortSignal
}

function send({ body, ...call }: Call): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', agent: false, ...call }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(parts).toString('utf8')
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}
