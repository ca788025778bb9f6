import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { caller } from '../controlplane/routes/start.ts'
import { bundledProgram } from '../support/bundled-program.ts'
import { type ControlPlaneProcess, startControlPlaneProcess } from '../support/control-plane-process.ts'
import { eventually } from '../support/eventually.ts'
import { type GithubAppServer, startGithubAppServer } from '../support/github-app-server.ts'
import { type OAuth2Server, startOAuth2Server } from '../support/oauth2-server.ts'
import { PROGRAM_ENV } from '../support/program-env.ts'
import { IS_FULL } from '../support/proof.ts'
import { expectNone, filesOf } from '../support/secret-forms.ts'
import { workerPostgres } from '../support/worker-postgres.ts'

/** Secrets of the sources of stored and read credentials. */
const SECRETS = {
  secretRef: 'canary-secretref-0001',
  vault: 'canary-vault-0002',
  env: 'canary-env-0003',
  file: 'canary-file-0004',
  exec: 'canary-exec-0005',
} as const
/** Secret in the environment of the gateway, which reads no source. */
const OTHER = 'canary-other-0006'
const MASTER_KEY = 'ef'.repeat(32)

const CRASH = `
process.report.directory = process.env.REPORTS
process.report.reportOnUncaughtException = true
process.on('SIGUSR2', () => setImmediate(() => { throw new Error('injected crash') }))
`

let dir: string
let reports: string
let preload: string
let oauth: OAuth2Server
let app: GithubAppServer
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-crash-'))
  reports = join(dir, 'reports')
  preload = join(dir, 'crash.mjs')
  for (const folder of ['bin', 'reports']) mkdirSync(join(dir, folder))
  writeFileSync(preload, CRASH)
  writeFileSync(join(dir, 'bin', 'prints'), `#!/bin/sh\necho ${SECRETS.exec}\n`, { mode: 0o755 })
  writeFileSync(join(dir, 'token'), SECRETS.file)
  for (const name of ['enrol', 'operator'])
    writeFileSync(join(dir, `${name}.token`), `${name}-token-of-the-crash`)
  ;[oauth, app] = await Promise.all([startOAuth2Server(), startGithubAppServer()])
})
afterAll(async () => {
  await oauth?.[Symbol.asyncDispose]()
  await app?.[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

function startPlane(databaseUrl: string): Promise<ControlPlaneProcess> {
  return startControlPlaneProcess(
    {
      ...{ DATABASE_URL: databaseUrl, MASTER_KEY, LOCAL_CREDENTIALS: 'on', REPORTS: reports },
      LOCAL_GATEWAY_TOKEN_FILE: join(dir, 'enrol.token'),
      OPERATOR_TOKEN_FILE: join(dir, 'operator.token'),
      ...{ ADMIN_TOKEN_FILE: join(dir, 'admin.token'), CANARY: SECRETS.env },
      PATH: [join(dir, 'bin'), process.env['PATH']].join(delimiter),
    },
    preload,
  )
}

type RunningGateway = { readonly child: ChildProcess; readonly port: number; output(): string }

async function startGateway(planeUrl: string): Promise<RunningGateway> {
  const child = fork(await bundledProgram('sidecar'), {
    env: {
      ...{ ...PROGRAM_ENV, PORT: '0', CONTROL_PLANE_URL: planeUrl, REPORTS: reports, CANARY: OTHER },
      ...{ GATEWAY_TOKEN_FILE: join(dir, 'enrol.token'), DATA_DIR: join(dir, 'gateway') },
      CAPTURE_SOCKET: join(dir, 'capture.sock'),
    },
    execArgv: ['--import', preload],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += String(chunk)
    })
  const [message] = (await once(child, 'message')) as [{ type: string; port: number }]
  expect(message.type, output).toBe('ready')
  return { child, port: message.port, output: () => output }
}

/** Applies a Connector of each source, and the rules that allow its requests. */
async function applyAll(planeUrl: string): Promise<void> {
  const operator = caller(planeUrl, { authorization: 'Bearer operator-token-of-the-crash' })
  const push = async (kind: string, name: string, spec: object, credential: string | null = null) => {
    const resource = { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name }, spec }
    const about = { uid: `${kind}-${name}`, generation: 1, source: 'file', managed_by: 'canary.yaml' }
    const answer = await operator('PUT', `/api/operator/objects/${kind}/default/${name}`, {
      ...{ ...about, credential, resource },
    })
    expect(answer.body, answer.text).toMatchObject({ accepted: true })
  }
  const at = (url: string) => ({ url, allowPrivateAddresses: true, allowPlaintextCredential: true })
  const generic = (name: string, credential: object, secret: string | null = null) =>
    push(
      'Connector',
      name,
      { type: 'generic', domains: [`${name}.test`], upstream: at(oauth.url), credential },
      secret,
    )
  await push('Gateway', 'local', {})
  const rules = ['generic', 'codehost'].map((type) => ({
    ...{ connectorType: type, actionPattern: `${type}.*`, decision: 'allow' },
  }))
  await push('Permission', 'all', { gatewayRefs: [{ name: 'local' }], rules })
  await generic('env', { env: { name: 'CANARY' } })
  await generic('file', { file: { path: join(dir, 'token') } })
  await generic('exec', { exec: { command: 'prints' } })
  await generic('secretref', { secretRef: { name: 'secretref' } }, SECRETS.secretRef)
  await generic('vault', { vault: 'vault' })
  const { tokenUrl, clientId } = oauth
  const exchange = { tokenUrl, clientId }
  await generic('oauth', { secretRef: { name: 'oauth' }, oauth2: exchange }, oauth.clientSecret)
  const { appId, installationId, url, privateKey } = app
  const githubApp = { appId, installationId, apiUrl: url }
  const credential = { secretRef: { name: 'app' }, githubApp }
  await push(
    'Connector',
    'app',
    { type: 'codehost', domains: ['app.test'], upstream: at(url), credential },
    privateKey,
  )
}

function send(port: number, host: string, path: string, key: string): Promise<number> {
  const proxy = Buffer.from(`bot:${key}`).toString('base64')
  const headers = { host, 'proxy-authorization': `Basic ${proxy}` }
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: `http://${host}${path}`, headers, agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
    })
      .on('error', reject)
      .end()
  })
}

/** Uses every source, so that the gateway and the control plane have had each secret and token in memory. */
async function useAll(planeUrl: string, port: number): Promise<void> {
  const admin = caller(planeUrl, {
    authorization: `Bearer ${readFileSync(join(dir, 'admin.token'), 'utf8').trim()}`,
  })
  const vault = { name: 'vault', secret: SECRETS.vault }
  expect((await admin('PUT', '/api/dashboard/credentials', vault)).status).toBe(200)
  const agent = { name: 'bot', runtime: 'node', environment: 'production' }
  const { body } = await admin('POST', '/api/dashboard/agents', agent)
  const key = String(body['api_key'])
  for (const [source, secret] of Object.entries(SECRETS))
    await eventually(`a request with the secret of ${source}`, async () => {
      await send(port, `${source.toLowerCase()}.test`, '/', key)
      return oauth.calls.some(({ token }) => token === secret) ? true : null
    })
  for (const [host, path] of [
    ['oauth.test', '/'],
    ['app.test', '/repos/acme/site'],
    // This action has no narrowed token.
    ['app.test', '/search/code?q=x'],
  ] as const)
    await eventually(`a request to ${host}${path}`, async () => {
      const status = await send(port, host, path, key)
      // The code host has no answer to a search.
      return status === (path.startsWith('/search') ? 404 : 200) ? true : null
    })
}

test.runIf(IS_FULL)(
  'no secret is in the output and the diagnostic report of a crashed control plane and gateway',
  async () => {
    const server = await workerPostgres()
    const database = await server.createDatabase()
    const plane = await startPlane(database.url)
    onTestFinished(() => plane.kill())
    await applyAll(plane.url)
    const gateway = await startGateway(plane.url)
    await useAll(plane.url, gateway.port)
    const ended = once(gateway.child, 'close')
    gateway.child.kill('SIGUSR2')
    await ended
    process.kill(plane.pid, 'SIGUSR2')
    await eventually('the report of the control plane', async () =>
      filesOf(reports).length === 2 ? true : null,
    )
    await plane.stop()
    const texts = filesOf(reports)
    for (const text of texts) expect(text).toContain('injected crash')
    for (const log of [plane.log(), gateway.output()]) expect(log).toContain('injected crash')
    const keyLines = app.privateKey.split('\n').filter((line) => line.length >= 40)
    expect(keyLines.length).toBeGreaterThan(10)
    // The token of the Connector and a narrowed one.
    expect(app.issued.length).toBeGreaterThanOrEqual(2)
    const tokens = [...oauth.issued, ...app.issued].map(({ token }) => token)
    const secrets = [...Object.values(SECRETS), OTHER, MASTER_KEY, oauth.clientSecret, ...keyLines, ...tokens]
    expectNone([...texts, plane.log(), gateway.output()], secrets)
    await server.stop()
  },
)
