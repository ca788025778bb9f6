import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect } from 'vitest'
import type { ConnectorView } from '../../core/wire/connectors.ts'
import type { PushReply } from '../../core/wire/operator/operator.ts'
import { readConfig } from '../../sidecar/config.ts'
import { createGateway } from '../../sidecar/gateway.ts'
import {
  ENROL_TOKEN,
  OPERATOR_TOKEN,
  startTestInstallation,
  type TestInstallation,
} from '../controlplane/routes/installation.ts'
import { at, caller } from '../controlplane/routes/start.ts'
import { eventually } from '../support/eventually.ts'
import { type OAuth2Server, startOAuth2Server } from '../support/oauth2-server.ts'

export type Answered = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** A control plane with its local gateway, and an authorization server whose API is the upstream of Connectors. */
export type MintedWorld = AsyncDisposable & {
  readonly here: TestInstallation
  readonly server: OAuth2Server
  /** Applies a Connector of type generic for `host`, whose stored secret `secret` is exchanged. */
  connect(name: string, oauth2: object, secret: string | null, over?: Connected): Promise<PushReply>
  /** Sends a request as an agent through the gateway. */
  send(method: string, host: string, path?: string): Promise<Answered>
  view(name: string): Promise<ConnectorView>
  /** Resolves when the Connector has a valid secret that the gateway sends. */
  ready(name: string): Promise<void>
  /** URL of the gateway with the key of the agent. */
  readonly proxyUrl: string
  /** Everything that the gateway logged. */
  gatewayLog(): string
  /** Folder with the journal of the gateway. */
  readonly dataDir: string
}

export type Connected = {
  readonly source?: 'file' | 'kubernetes'
  readonly type?: string
  readonly spec?: object
}

export async function startMintedWorld(env: Record<string, string> = {}): Promise<MintedWorld> {
  const here = await startTestInstallation(env)
  const server = await startOAuth2Server()
  const operator = caller(here.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  let generation = 0
  const put = async (
    kind: string,
    name: string,
    spec: object,
    extra: { readonly source?: string; readonly credential?: string | null } = {},
  ) => {
    generation += 1
    const { status, body, text } = await operator('PUT', `/api/operator/objects/${kind}/default/${name}`, {
      ...{ uid: `uid-${kind}-${name}`, generation, source: 'file', managed_by: 'minted.yaml', ...extra },
      resource: {
        apiVersion: 'chaperone.dev/v1alpha1',
        kind,
        metadata: { name, namespace: 'default' },
        spec,
      },
    })
    expect(status, text).toBe(200)
    return body as unknown as PushReply
  }
  // Tests send requests until something happens.
  await put('Gateway', 'local', { rateLimit: { requestsPerMinute: 100_000 } })
  const allowed = ['generic', 'codehost'].map((type) => ({
    ...{ connectorType: type, actionPattern: `${type}.*`, decision: 'allow' },
  }))
  const held = {
    connectorType: 'codehost',
    actionPattern: 'codehost.pr.update_branch',
    decision: 'require_approval',
  }
  const rules = [...allowed, held]
  await put('Permission', 'all', { gatewayRefs: [{ name: 'local' }], rules })
  const gateway = await startGateway(here.plane.url)
  const agent = { name: 'bot', runtime: 'node', environment: 'production' }
  const made = await here.admin('POST', '/api/dashboard/agents', agent)
  const proxy = Buffer.from(`bot:${String(made.body['api_key'])}`).toString('base64')
  const view = async (name: string) => {
    const { body } = await here.admin('GET', '/api/dashboard/connectors')
    const found = at<ConnectorView[]>(body, 'connectors').find((row) => row.name === `default/${name}`)
    if (found === undefined) throw new Error(`no connector ${name}`)
    return found
  }
  const send: MintedWorld['send'] = (method, host, path = '/') =>
    new Promise((resolve, reject) => {
      const headers = { host, 'proxy-authorization': `Basic ${proxy}` }
      const call = { host: '127.0.0.1', port: gateway.port, method, path: `http://${host}${path}`, headers }
      request({ ...call, agent: false }, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        answer
          .on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
          .on('error', reject)
      })
        .on('error', reject)
        .end()
    })
  return {
    ...{ here, server, send, view, gatewayLog: gateway.log, dataDir: gateway.dir },
    proxyUrl: `http://bot:${String(made.body['api_key'])}@127.0.0.1:${gateway.port}`,
    connect(name, oauth2, secret, { source = 'file', type = 'generic', spec = {} } = {}) {
      const upstream = { url: server.url, allowPrivateAddresses: true, allowPlaintextCredential: true }
      const exchange = { tokenUrl: server.tokenUrl, clientId: server.clientId, ...oauth2 }
      const credential = { secretRef: { name }, oauth2: exchange }
      const connector = { type, domains: [`${name}.test`], upstream, credential, ...spec }
      return put('Connector', name, connector, { source, credential: secret })
    },
    async ready(name) {
      await eventually(`a request of ${name} that is answered`, async () =>
        (await send('GET', `${name}.test`)).status === 200 ? true : null,
      )
    },
    async [Symbol.asyncDispose]() {
      await gateway.stop()
      await here[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

async function startGateway(url: string) {
  const dir = mkdtempSync(join(tmpdir(), 'chaperone-minted-'))
  const tokenFile = join(dir, 'enrol.token')
  writeFileSync(tokenFile, ENROL_TOKEN)
  const config = readConfig({
    ...{ PORT: '0', CONTROL_PLANE_URL: url, GATEWAY_TOKEN_FILE: tokenFile, DATA_DIR: dir },
    ...{ CAPTURE_SOCKET: join(dir, 'capture.sock') },
  })
  const lines: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) })
  const gateway = await createGateway(config, log)
  return {
    ...{ port: gateway.port, dir, log: () => lines.join('') },
    token: () => readFileSync(join(dir, 'gateway.token'), 'utf8').trim(),
    async stop() {
      await gateway.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
