import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cliProgram } from '../support/cli-program.ts'
import { eventually } from '../support/eventually.ts'
import { type MintedWorld, startMintedWorld } from './minted-world.ts'

let world: MintedWorld
let dir: string
const VARIABLE = 'token-of-the-environment'

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-local-'))
  mkdirSync(join(dir, 'bin'))
  mkdirSync(join(dir, 'mounted', 'default'), { recursive: true })
  mkdirSync(join(dir, 'mounted', 'team-b'), { recursive: true })
  world = await startMintedWorld({
    ...{ LOCAL_CREDENTIALS: 'on', CREDENTIAL_FILE_DIRS: join(dir, 'mounted'), SITE_TOKEN: VARIABLE },
    PATH: [join(dir, 'bin'), process.env['PATH']].join(delimiter),
  })
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
})

/** Applies a Connector whose credential is not exchanged, for the host `name.test`. */
function connect(name: string, credential: object, over: { source?: 'kubernetes'; secret?: string } = {}) {
  const upstream = { url: world.server.url, allowPrivateAddresses: true, allowPlaintextCredential: true }
  const { source = 'file', secret = null } = over
  return world.connect(name, {}, secret, { source, spec: { upstream, credential } })
}

/** Sends requests until the upstream receives the token, and returns the tokens that it received after it. */
async function sends(name: string, token: string): Promise<void> {
  await eventually(`a request with ${token}`, async () => {
    await world.send('GET', `${name}.test`)
    return world.server.calls.at(-1)?.token === token ? true : null
  })
}

function program(name: string, script: string): string {
  const path = join(dir, 'bin', name)
  // A file that is open for writing cannot be run.
  writeFileSync(`${path}.new`, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  renameSync(`${path}.new`, path)
  return path
}

function write(path: string, content: string): string {
  writeFileSync(`${path}.new`, content)
  renameSync(`${path}.new`, path)
  return path
}

test('the gateway sends the value of an environment variable, and page and command line name the variable', async () => {
  expect(await connect('variable', { env: { name: 'SITE_TOKEN' } })).toMatchObject({
    ...{ accepted: true, reasons: [], warnings: [] },
  })
  await sends('variable', VARIABLE)
  const { minted, credential, has_token } = await world.view('variable')
  expect(minted).toMatchObject({ kind: 'env', expires_at: null, error: null })
  expect(credential).toMatchObject({ source: 'env', name: 'SITE_TOKEN' })
  expect(has_token).toBe(true)
  const env = {
    ...{
      PATH: process.env['PATH'],
      CHAPERONE_URL: world.here.plane.url,
      CHAPERONE_TOKEN: world.here.adminToken,
    },
  }
  const child = spawn(process.execPath, [cliProgram(), 'credential', 'ls'], { env })
  const [out] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect(out).toMatch(/SITE_TOKEN +read +env +default\/variable/)
  const set = await world.here.admin('PUT', '/api/dashboard/credentials', {
    name: 'variable',
    secret: 'other',
  })
  expect(set).toMatchObject({ status: 409 })
  expect(set.text).toContain(
    'takes its credential from the environment variable SITE_TOKEN. Set the environment',
  )
})

test('records say that a credential without an expiry comes from a variable or a file, and which version was sent', async () => {
  const path = write(join(dir, 'recorded.token'), 'first-recorded')
  // `sends` must not find the calls of other tests.
  world.server.calls.splice(0)
  await connect('recorded-variable', { env: { name: 'SITE_TOKEN' } })
  await sends('recorded-variable', VARIABLE)
  await connect('recorded-file', { file: { path } })
  await sends('recorded-file', 'first-recorded')
  write(path, 'second-recorded')
  await sends('recorded-file', 'second-recorded')
  const ids = (host: string, count: number) =>
    eventually('the records', async () => {
      const { body } = await world.here.admin('GET', '/api/dashboard/traffic?limit=500')
      const rows = body['traffic'] as Array<{ host: string; credential: { id: string } | null }>
      const found = rows.filter((row) => row.host === host).flatMap(({ credential }) => credential ?? [])
      const distinct = new Map(found.map((credential) => [credential.id, credential]))
      return distinct.size < count ? null : [...distinct.values()].toReversed()
    })
  expect(await ids('recorded-variable.test', 1)).toEqual([
    { id: 'default/recorded-variable/1', source: 'env' },
  ])
  expect(await ids('recorded-file.test', 2)).toEqual([
    { id: 'default/recorded-file/1', source: 'file' },
    { id: 'default/recorded-file/2', source: 'file' },
  ])
})

test('a replaced file is sent within seconds and the former content never again; a missing file is an error of the source', async () => {
  const path = write(join(dir, 'site.token'), 'first-of-the-file\n')
  await connect('filed', { file: { path } })
  await sends('filed', 'first-of-the-file')
  const versions = () =>
    world.here.sql(
      `select count(*)::int as n from audit_events where details->>'change' = 'credential.minted' and details->>'connector' = 'default/filed'`,
    )
  write(path, 'second-of-the-file')
  await sends('filed', 'second-of-the-file')
  const from = world.server.calls.length
  for (let sent = 0; sent < 5; sent++) await world.send('GET', 'filed.test')
  const later = new Set(world.server.calls.slice(from).map(({ token }) => token))
  expect(later).toEqual(new Set(['second-of-the-file']))
  expect(await versions()).toEqual([{ n: 2 }])
  // The name of the source is the path.
  const rotated = await world.here.admin('POST', '/api/dashboard/credentials/rotate', { name: path })
  expect(rotated.body).toEqual({ ok: true, name: path, connectors: ['default/filed'] })
  rmSync(path)
  const failed = await eventually('the failure', async () => {
    const found = await world.view('filed')
    return found.minted?.error == null ? null : found
  })
  expect(failed.minted?.error).toContain(`The file ${path} does not exist.`)
  expect(failed.warnings.join()).toContain(`The credential from the file ${path} could not be refreshed.`)
  // The last content is sent for 5 more minutes.
  expect(Date.parse(failed.minted?.expires_at ?? '')).toBeGreaterThan(Date.now())
  await sends('filed', 'second-of-the-file')
  write(path, 'third-of-the-file')
  await sends('filed', 'third-of-the-file')
  expect((await world.view('filed')).minted).toMatchObject({ error: null, expires_at: null })
})

test('gh auth token works, and an ExecCredential is replaced before it expires', async () => {
  program('gh', `[ "$1 $2" = "auth token" ] && printf 'gho_of_%s\\n' "$GH_HOST"`)
  await connect('hub', {
    exec: { command: 'gh', args: ['auth', 'token'], env: [{ name: 'GH_HOST', value: 'git.example.com' }] },
  })
  await sends('hub', 'gho_of_git.example.com')
  expect((await world.view('hub')).minted).toMatchObject({ kind: 'exec', error: null })

  const count = join(dir, 'count')
  const command = program(
    'short-lived',
    `n=$(($(cat "${count}" 2>/dev/null || echo 0) + 1)); echo $n > "${count}"
     printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"short-%s","expirationTimestamp":"%s"}}' \\
       "$n" "$(date -u -d '+4 seconds' +%Y-%m-%dT%H:%M:%SZ)"`,
  )
  await connect('brief', { exec: { command } })
  const from = world.server.calls.length
  await sends('brief', 'short-2')
  const numbers = world.server.calls.slice(from).map(({ token }) => Number(token?.slice('short-'.length)))
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
})

test('a command that fails is an error of the source, with its exit code and without its output', async () => {
  const command = program('failing', 'echo canary-of-the-output; echo canary-of-the-output >&2; exit 3')
  await connect('broken', { exec: { command, args: ['canary-of-the-arguments'] } })
  const refused = await eventually('the refusal', async () => {
    const answer = await world.send('GET', 'broken.test')
    return answer.text.includes('exit code 3') ? answer : null
  })
  expect(refused.status).toBe(503)
  expect(refused.text).toContain(`The command ${command} ended with exit code 3.`)
  const seen = [
    ...[refused.text, world.here.plane.log(), world.gatewayLog()],
    (await world.here.admin('GET', '/api/dashboard/connectors')).text,
    (await world.here.admin('GET', '/api/dashboard/audit')).text,
  ].join()
  expect(seen).toContain('exit code 3')
  expect(seen).not.toContain('canary-of-the')
})

test('a file is exchanged in place of a stored secret, and a changed one ends the former token', async () => {
  const { server } = world
  const path = write(join(dir, 'client.secret'), server.clientSecret)
  const oauth2 = { tokenUrl: server.tokenUrl, clientId: server.clientId }
  await connect('exchanging', { file: { path }, oauth2 })
  await world.ready('exchanging')
  expect(JSON.stringify(server.calls)).not.toContain(server.clientSecret)
  write(path, 'wrong-secret')
  const failed = await eventually('the failure', async () => {
    const { minted } = await world.view('exchanging')
    return minted?.error == null ? null : minted.error
  })
  expect(failed).toContain('invalid_client')
  expect(failed).not.toContain('wrong-secret')
  const refreshing = { ...oauth2, grant: 'refresh_token' }
  expect(await connect('exchanging', { file: { path }, oauth2: refreshing })).toMatchObject({
    ...{ accepted: false, reasons: [expect.stringContaining('refresh_token needs a stored secret')] },
  })
})

test('an unchanged source makes no configuration version and no audit event', async () => {
  const { here } = world
  const events = () =>
    here.sql(
      `select count(*)::int as n from audit_events where details->>'connector' in ('default/variable', 'default/filed')`,
    )
  const read = () =>
    here.sql(`select min(m.issued_at)::text as at from minted_credentials m join connectors c on c.id = m.connector_id
      where c.name in ('default/variable', 'default/filed')`)
  const before = await events()
  const [last] = await read()
  await here.sql('update minted_credentials set due_at = now()')
  // Wakes the refresher.
  await connect('waking', { env: { name: 'SITE_TOKEN' } })
  await eventually('another read', async () => ((await read())[0]?.['at'] === last?.['at'] ? null : true))
  expect(await events()).toEqual(before)
})

const RSA_KEY = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()

const CLUSTER = { source: 'kubernetes' } as const

test.each([
  [
    'env',
    { env: { name: 'SITE_TOKEN' } },
    'spec.credential.env: works only in an installation on one machine, not in a cluster; in a cluster, create a Secret',
  ],
  [
    'exec',
    { exec: { command: 'thief' } },
    'spec.credential.exec: works only in an installation on one machine, not in a cluster; in a cluster, create a Secret',
  ],
  [
    'vault',
    { vault: 'codehost' },
    'spec.credential.vault: works only in an installation on one machine, not in a cluster; in a cluster, create a Secret',
  ],
  ['file', { file: { path: '/etc/hostname' } }, 'spec.credential.file.path: must be below '],
])(
  'a hostile tenant of a cluster gets nothing by %s: the Connector is refused, and nothing is run, read or sent',
  async (name, credential, reason) => {
    const ran = join(dir, 'ran')
    program('thief', `touch "${ran}"; echo stolen`)
    const reply = await connect(`thief-${name}`, credential, CLUSTER)
    expect(reply).toMatchObject({
      accepted: false,
      problem: 'Invalid',
      reasons: [expect.stringContaining(reason)],
    })
    const from = world.server.calls.length
    expect((await world.send('GET', `thief-${name}.test`)).status).toBe(403)
    expect(world.server.calls).toHaveLength(from)
    const rows = await world.here.sql(`select 1 from connectors where name = $1`, [`default/thief-${name}`])
    expect(rows).toEqual([])
    expect(() => readFileSync(ran)).toThrow('ENOENT')
  },
)

test('a hostile tenant of a cluster reads no file of another namespace, and only its own below a listed directory', async () => {
  const [own, theirs] = [join(dir, 'mounted', 'default', 'token'), join(dir, 'mounted', 'team-b', 'token')]
  writeFileSync(theirs, 'token-of-team-b')
  writeFileSync(own, 'token-of-default')
  const refused = await connect('reader', { file: { path: theirs } }, CLUSTER)
  expect(refused).toMatchObject({ accepted: false })
  expect(refused.reasons.join()).toContain(
    `must be below ${join(dir, 'mounted', 'default')}; mount the file there`,
  )
  const dotted = await connect(
    'reader',
    { file: { path: `${join(dir, 'mounted', 'default')}/../team-b/token` } },
    CLUSTER,
  )
  expect(dotted).toMatchObject({ accepted: false })
  await connect('reader', { file: { path: own } }, CLUSTER)
  await sends('reader', 'token-of-default')
  expect(JSON.stringify(world.server.calls)).not.toContain('token-of-team-b')
})

test('a hostile tenant of a cluster gets by secretRef, oauth2 and githubApp only what the operator read in its own namespace', async () => {
  // The value comes from the operator alone; a reference has no field for another namespace.
  const foreign = await connect(
    'referring',
    { secretRef: { name: 'codehost', namespace: 'team-b' } },
    CLUSTER,
  )
  expect(foreign).toMatchObject({ accepted: false })
  await connect('referring', { secretRef: { name: 'codehost' } }, CLUSTER)
  expect((await world.send('GET', 'referring.test')).status).toBe(403)
  const oauth2 = { tokenUrl: 'https://127.0.0.1:1/token', clientId: 'a' }
  const githubApp = { appId: '1', installationId: 1, apiUrl: 'https://169.254.169.254' }
  for (const exchange of [{ oauth2 }, { githubApp }]) {
    const [kind = ''] = Object.keys(exchange)
    const name = kind.toLowerCase()
    const stolen = await connect(name, { env: { name: 'SITE_TOKEN' }, ...exchange }, CLUSTER)
    expect(stolen).toMatchObject({
      accepted: false,
      reasons: [expect.stringContaining('in a cluster, create a Secret')],
    })
    const secret = kind === 'oauth2' ? 'secret' : RSA_KEY
    await connect(name, { secretRef: { name }, ...exchange }, { ...CLUSTER, secret })
    const error = await eventually('the refusal', async () => (await world.view(name)).minted?.error ?? null)
    expect(error).toMatch(/127\.0\.0\.1|169\.254\.169\.254/)
  }
})

test('no API, wizard and import states a source of the machine', async () => {
  const { here } = world
  const connector = { type: 'generic', domains: ['api.test'], token: 'a' }
  for (const credential of [
    { env: { name: 'SITE_TOKEN' } },
    { file: { path: '/etc/hostname' } },
    { exec: { command: 'gh' } },
  ]) {
    const added = await here.admin('POST', '/api/dashboard/connectors', { ...connector, credential })
    expect(added).toMatchObject({ status: 400, text: expect.stringContaining('credential') })
    expect(added.text).toContain('manifest')
    const agent = { name: 'wizard', runtime: 'node', environment: 'production' }
    const connectors = [
      { type: 'generic', domains: ['wizard.test'], token: 'a', accessRule: 'read', credential },
    ]
    expect((await here.admin('POST', '/api/dashboard/setup', { agent, connectors })).status).toBe(400)
    const bundle = { version: '1.0', connectors: [{ ...connector, credential }] }
    const imported = await here.admin('POST', '/api/dashboard/import', bundle)
    expect(imported.status).toBe(400)
    expect(imported.text).toContain('connectors')
  }
  expect(
    await here.sql(
      `select 1 from connectors where spec->'credential' ?| array['env','file','exec'] and source = 'api'`,
    ),
  ).toEqual([])
})
