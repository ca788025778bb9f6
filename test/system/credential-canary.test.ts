import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { caller } from '../controlplane/routes/start.ts'
import { bundledProgram } from '../support/bundled-program.ts'
import { startControlPlaneProcess } from '../support/control-plane-process.ts'
import { eventually } from '../support/eventually.ts'
import { type GithubAppServer, startGithubAppServer } from '../support/github-app-server.ts'
import { PROGRAM_ENV } from '../support/program-env.ts'
import { IS_FULL } from '../support/proof.ts'
import { workerPostgres } from '../support/worker-postgres.ts'
import { type MintedWorld, startMintedWorld } from './minted-world.ts'

/** Names of the sources, each with a secret that no text of the product may have. */
const SECRETS = {
  secretRef: 'canary-secretref-0001',
  vault: 'canary-vault-0002',
  env: 'canary-env-0003',
  file: 'canary-file-0004',
  exec: 'canary-exec-0005',
} as const
const BROKEN = 'canary-broken-0006'

let dir: string
let world: MintedWorld
let app: GithubAppServer
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-canary-'))
  mkdirSync(join(dir, 'bin'))
  program('prints', `echo ${SECRETS.exec}`)
  program('fails', `echo ${BROKEN}; echo ${BROKEN} >&2; exit 5`)
  program('prints-json', `echo '{"status":{"token":"${BROKEN}"}}'`)
  writeFileSync(join(dir, 'token'), SECRETS.file)
  writeFileSync(join(dir, 'lines'), `${BROKEN}\n${BROKEN}`)
  ;[world, app] = await Promise.all([
    startMintedWorld({
      ...{ LOCAL_CREDENTIALS: 'on', CANARY: SECRETS.env, CANARY_LINES: `${BROKEN}\n${BROKEN}` },
      PATH: [join(dir, 'bin'), process.env['PATH']].join(delimiter),
    }),
    startGithubAppServer(),
  ])
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await app?.[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

function program(name: string, script: string): void {
  writeFileSync(join(dir, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
}

/** Applies a Connector of the source, for the host `name.test`. */
function connect(name: string, credential: object, secret: string | null = null) {
  const upstream = { url: world.server.url, allowPrivateAddresses: true, allowPlaintextCredential: true }
  return world.connect(name, {}, secret, { spec: { upstream, credential } })
}

function connectApp(name: string, key: string) {
  const { appId, installationId, url } = app
  const upstream = { url, allowPrivateAddresses: true, allowPlaintextCredential: true }
  const credential = { secretRef: { name }, githubApp: { appId, installationId, apiUrl: url } }
  return world.connect(name, {}, key, { type: 'codehost', spec: { upstream, credential } })
}

const failureOf = (name: string) =>
  eventually(`the failure of ${name}`, async () => (await world.view(name)).minted?.error ?? null)

/** Uses every source, so that its secret reaches the upstream. */
async function useAll(): Promise<void> {
  await connect('secretref', { secretRef: { name: 'secretref' } }, SECRETS.secretRef)
  await connect('vault', { vault: 'vault' })
  const stored = { name: 'vault', secret: SECRETS.vault }
  expect((await world.here.admin('PUT', '/api/dashboard/credentials', stored)).status).toBe(200)
  await connect('env', { env: { name: 'CANARY' } })
  await connect('file', { file: { path: join(dir, 'token') } })
  await connect('exec', { exec: { command: 'prints' } })
  for (const [source, secret] of Object.entries(SECRETS))
    await eventually(`a request with the secret of ${source}`, async () => {
      await world.send('POST', `${source.toLowerCase()}.test`, '/orders')
      return world.server.calls.some(({ token }) => token === secret) ? true : null
    })
  await world.connect('oauth', {}, world.server.clientSecret)
  await world.ready('oauth')
  await connectApp('app', app.privateKey)
  await eventually('a request of the app', async () =>
    (await world.send('GET', 'app.test', '/repos/acme/site')).status === 200 ? true : null,
  )
}

/** Has every source fail with its secret at hand. Returns the texts that agents and users get. */
async function failAll(): Promise<readonly string[]> {
  const { server, here } = world
  const lines = `${BROKEN}\n${BROKEN}`
  const pushed = await connect('broken-secretref', { secretRef: { name: 'b' } }, lines)
  const put = await here.admin('PUT', '/api/dashboard/credentials', { name: 'vault', secret: lines })
  expect(put.status).toBe(400)
  await connect('broken-env', { env: { name: 'CANARY_LINES' } })
  await connect('broken-file', { file: { path: join(dir, 'lines') } })
  await connect('broken-exec', { exec: { command: 'fails', args: [] } })
  await connect('broken-json', { exec: { command: 'prints-json' } })
  const { clientSecret } = server
  server.failure = {
    status: 400,
    body: {
      error: 'invalid_client',
      error_description: `${clientSecret} ${encodeURIComponent(clientSecret)}`,
    },
  }
  await world.connect('broken-oauth', {}, clientSecret)
  await connectApp('broken-app', `-----BEGIN PRIVATE KEY-----\n${BROKEN}\n-----END PRIVATE KEY-----`)
  const minted = ['broken-env', 'broken-file', 'broken-exec', 'broken-json', 'broken-oauth', 'broken-app']
  const errors = await Promise.all(minted.map(failureOf))
  server.failure = null
  const answers = await Promise.all(
    ['broken-secretref', ...minted].map(async (name) => {
      const { status, headers, text } = await world.send('GET', `${name}.test`)
      expect(status, name).toBeGreaterThanOrEqual(400)
      return JSON.stringify([headers, text])
    }),
  )
  return [JSON.stringify(pushed), put.text, ...errors, ...answers]
}

/** Returns every table as text. */
async function tables(): Promise<readonly string[]> {
  const { here } = world
  const names = await here.sql(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const texts = names.map(async ({ name }) => {
    const [row] = await here.sql(`select coalesce(json_agg(t)::text, '') as text from "${String(name)}" t`)
    return String(row?.['text'])
  })
  return Promise.all(texts)
}

/** Reads of users and collectors, exports included. */
const PAGES = [
  ...[
    'activity',
    'agents',
    'audit',
    'audit-export?type=csv',
    'audit-export',
    'connectors',
    'credentials',
    'export',
  ],
  ...[
    'export?format=manifests',
    'gateway',
    'manifests',
    'notifications',
    'overview',
    'permissions',
    'policies',
  ],
  ...['settings', 'traffic', 'unowned-hosts', 'users'],
].map((path) => `/api/dashboard/${path}`)

async function replies(): Promise<readonly string[]> {
  const { here } = world
  const answers = await Promise.all(PAGES.map((path) => here.admin('GET', path)))
  expect(answers.map(({ status }, at) => [PAGES[at], status]).filter(([, status]) => status !== 200)).toEqual(
    [],
  )
  return [...answers.map(({ text }) => text), (await here.maintenance('GET', '/api/metrics')).text]
}

function filesOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
}

/** Forms in which a secret could appear. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  // Base64 of a longer text with the secret at any of three offsets.
  const inner = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(offset === 0 ? 0 : 4, -4),
  )
  return [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('hex'),
    ...inner,
  ]
}

function expectNone(texts: readonly string[], secrets: readonly string[]): void {
  const forms = secrets.flatMap(formsOf)
  for (const text of texts)
    for (const form of forms)
      if (text.includes(form)) throw new Error(`a text has ${form}: ${around(text, form)}`)
}

function around(text: string, form: string): string {
  const at = text.indexOf(form)
  return text.slice(Math.max(0, at - 200), at + 200)
}

test('the check finds a secret in any of its forms', () => {
  for (const form of formsOf('canary'))
    expect(() => expectNone([`a ${form} b`], ['canary'])).toThrow('a text has')
  const encoded = Buffer.from(`user:${SECRETS.env}:more`).toString('base64')
  expect(() => expectNone([encoded], [SECRETS.env])).toThrow('a text has')
})

test('no secret of any source is in the database, the logs, the journal, replies, exports and errors', async () => {
  await useAll()
  const errors = await failAll()
  const keyLines = app.privateKey.split('\n').filter((line) => line.length >= 40)
  const secrets = [
    ...[...Object.values(SECRETS), BROKEN, world.server.clientSecret, ...keyLines],
    ...[...world.server.issued, ...app.issued].map(({ token }) => token),
  ]
  expect(keyLines.length).toBeGreaterThan(10)
  const stored = await tables()
  const seen = [...errors, ...stored, ...(await replies()), world.here.plane.log(), world.gatewayLog()]
  expect(seen.join()).toContain('default/broken-json')
  expectNone([...seen, ...filesOf(world.dataDir)], secrets)
})

const CRASH = `
process.report.directory = process.env.REPORTS
process.report.reportOnUncaughtException = true
process.on('SIGUSR2', () => setImmediate(() => { throw new Error('injected crash') }))
`

test.runIf(IS_FULL)(
  'no secret is in the output and the diagnostic report of a crashed control plane and gateway',
  async () => {
    const reports = join(dir, 'reports')
    mkdirSync(reports)
    const preload = join(dir, 'crash.mjs')
    writeFileSync(preload, CRASH)
    for (const name of ['enrol', 'operator'])
      writeFileSync(join(dir, `${name}.token`), `${name}-token-of-the-crash`)
    const server = await workerPostgres()
    const database = await server.createDatabase()
    const masterKey = 'ef'.repeat(32)
    const plane = await startControlPlaneProcess(
      {
        ...{ DATABASE_URL: database.url, MASTER_KEY: masterKey, LOCAL_CREDENTIALS: 'on', REPORTS: reports },
        ...{
          LOCAL_GATEWAY_TOKEN_FILE: join(dir, 'enrol.token'),
          OPERATOR_TOKEN_FILE: join(dir, 'operator.token'),
        },
        ...{ ADMIN_TOKEN_FILE: join(dir, 'admin.token'), CANARY: SECRETS.env },
        PATH: [join(dir, 'bin'), process.env['PATH']].join(delimiter),
      },
      preload,
    )
    onTestFinished(() => plane.kill())
    const operator = caller(plane.url, { authorization: 'Bearer operator-token-of-the-crash' })
    const push = async (kind: string, name: string, spec: object, credential: string | null = null) => {
      const resource = { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name }, spec }
      const about = { uid: name, generation: 1, source: 'file', managed_by: 'canary.yaml', credential }
      const answer = await operator('PUT', `/api/operator/objects/${kind}/default/${name}`, {
        ...about,
        resource,
      })
      expect(answer.body, answer.text).toMatchObject({ accepted: true })
    }
    await push('Gateway', 'local', {})
    const sources = {
      env: { env: { name: 'CANARY' } },
      file: { file: { path: join(dir, 'token') } },
      exec: { exec: { command: 'prints' } },
    }
    for (const [name, credential] of Object.entries(sources))
      await push('Connector', name, { type: 'generic', domains: [`${name}.test`], credential })
    const stored = {
      type: 'generic',
      domains: ['stored.test'],
      credential: { secretRef: { name: 'stored' } },
    }
    await push('Connector', 'stored', stored, SECRETS.secretRef)
    const gateway = fork(await bundledProgram('sidecar'), {
      env: {
        ...{ ...PROGRAM_ENV, PORT: '0', CONTROL_PLANE_URL: plane.url, REPORTS: reports, CANARY: BROKEN },
        ...{ GATEWAY_TOKEN_FILE: join(dir, 'enrol.token'), DATA_DIR: join(dir, 'gateway') },
        CAPTURE_SOCKET: join(dir, 'capture.sock'),
      },
      execArgv: ['--import', preload],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    onTestFinished(() => void gateway.kill('SIGKILL'))
    let output = ''
    for (const stream of [gateway.stdout, gateway.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output += String(chunk)
      })
    const admin = caller(plane.url, {
      authorization: `Bearer ${readFileSync(join(dir, 'admin.token'), 'utf8').trim()}`,
    })
    await eventually('the secrets', async () => {
      const { body } = await admin('GET', '/api/dashboard/connectors')
      const rows = body['connectors'] as ReadonlyArray<{ minted: { issued_at: string | null } | null }>
      return rows.every(({ minted }) => minted === null || minted.issued_at !== null) ? true : null
    })
    await eventually('the configuration at the gateway', async () => {
      const { body } = await admin('GET', '/api/dashboard/gateway')
      const [row] = body['gateways'] as ReadonlyArray<{
        live: { applied_version: number; desired_version: number } | null
      }>
      return row?.live != null && row.live.applied_version >= row.live.desired_version ? true : null
    })
    const ended = once(gateway, 'close')
    gateway.kill('SIGUSR2')
    await ended
    process.kill(plane.pid, 'SIGUSR2')
    await eventually('the report of the control plane', async () =>
      filesOf(reports).length === 2 ? true : null,
    )
    await plane.stop()
    const texts = filesOf(reports)
    for (const text of texts) expect(text).toContain('injected crash')
    for (const log of [plane.log(), output]) expect(log).toContain('injected crash')
    expectNone([...texts, plane.log(), output], [...Object.values(SECRETS), BROKEN, masterKey])
    await server.stop()
  },
)
