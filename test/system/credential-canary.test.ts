import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type GithubAppServer, startGithubAppServer } from '../support/github-app-server.ts'
import { expectNone, filesOf, formsOf } from '../support/secret-forms.ts'
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
