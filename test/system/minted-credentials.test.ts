import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cliProgram } from '../support/cli-program.ts'
import { eventually } from '../support/eventually.ts'
import { type MintedWorld, startMintedWorld } from './minted-world.ts'

let world: MintedWorld
beforeAll(async () => {
  world = await startMintedWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())

test('the gateway sends an access token of the client credentials grant, never the client secret', async () => {
  const { server } = world
  const reply = await world.connect('plain', { scopes: ['repo.read'] }, server.clientSecret)
  expect(reply).toMatchObject({ accepted: true, reasons: [] })
  await world.ready('plain')
  const last = server.calls.at(-1)
  expect(last).toMatchObject({ path: '/', status: 200 })
  expect(server.issued.find(({ token }) => token === last?.token)).toMatchObject({
    ...{ scopes: ['repo.read'], grant: 'client_credentials' },
  })
  expect(JSON.stringify(server.calls)).not.toContain(server.clientSecret)
  const { minted } = await world.view('plain')
  expect(minted).toMatchObject({ kind: 'oauth2', error: null, failed_at: null })
  expect(Date.parse(minted?.expires_at ?? '')).toBeGreaterThan(Date.parse(minted?.issued_at ?? ''))
})

test('a refresh token that the server replaces is stored and used for the next exchange', async () => {
  const { server } = world
  const issued = () => server.issued.filter(({ grant }) => grant === 'refresh_token').length
  server.lifetimeS = 2
  const stored = JSON.stringify({ client_secret: server.clientSecret, refresh_token: server.refreshToken })
  await world.connect('rotating', { grant: 'refresh_token' }, stored)
  await eventually('three exchanges', () => (issued() >= 3 ? true : null))
  expect((await world.view('rotating')).minted).toMatchObject({ error: null })
  server.lifetimeS = 3_600
})

test('a subject token is exchanged for an access token', async () => {
  const { server } = world
  const stored = JSON.stringify({ client_secret: server.clientSecret, subject_token: server.subjectToken })
  const exchange = { grant: 'token_exchange', audience: 'api', clientAuthentication: 'post' }
  await world.connect('exchanged', exchange, stored)
  await world.ready('exchanged')
  const form = server.forms.find((one) => one.get('audience') === 'api')
  expect(form?.get('subject_token_type')).toBe('urn:ietf:params:oauth:token-type:access_token')
})

test('a failing source keeps the last secret until it expires, then requests are refused with its error until it is back', async () => {
  const { server } = world
  server.lifetimeS = 10
  await world.connect('failing', {}, server.clientSecret)
  await world.ready('failing')
  server.failure = { status: 400, body: { error: 'invalid_client', error_description: 'client is disabled' } }
  // Makes the exchange due, so that nearly the whole lifetime is left when it fails.
  const rotated = await world.here.admin('POST', '/api/dashboard/credentials/rotate', { name: 'failing' })
  expect(rotated.status).toBe(200)
  const failed = await eventually('the failure', async () => {
    const found = await world.view('failing')
    return found.minted?.error == null ? null : found
  })
  expect(failed.minted?.error).toContain('refused to issue a token: invalid_client (client is disabled).')
  expect(failed.warnings.join()).toContain(
    'The credential from the Secret default/failing could not be refreshed.',
  )
  expect((await world.send('GET', 'failing.test')).status).toBe(200)
  const refused = await eventually('the refusal', async () => {
    const answer = await world.send('GET', 'failing.test')
    // Until the secret expires, no request fails.
    if (answer.status === 200) return null
    return answer
  })
  expect(refused.status).toBe(503)
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect(JSON.parse(refused.text)).toMatchObject({ error: 'credential unavailable' })
  expect(refused.text).toContain('invalid_client (client is disabled)')
  expect((await world.here.maintenance('GET', '/api/metrics')).text).toContain(
    'svc_minted_credential_failing{connector="default/failing"} 1',
  )
  server.failure = null
  server.lifetimeS = 3_600
  await world.ready('failing')
  expect((await world.view('failing')).minted).toMatchObject({ error: null })
  expect(server.calls.filter(({ status }) => status === 401)).toEqual([])
})

test('a revoked token is replaced once for all requests, reads are sent again, and a write gets the 401', async () => {
  const { server, here } = world
  await world.connect('revoked', {}, server.clientSecret)
  await world.ready('revoked')
  const { length } = server.issued
  const used = server.calls.at(-1)?.token
  for (const one of server.issued) if (one.token === used) one.isRevoked = true
  // Secrets of less than 10 s are not replaced.
  await here.sql(`update minted_credentials set issued_at = issued_at - interval '1 minute'`)
  const from = server.calls.length
  const write = await world.send('POST', 'revoked.test', '/orders')
  expect(write.status).toBe(401)
  expect(server.calls.slice(from)).toMatchObject([{ method: 'POST', status: 401 }])
  const paths = ['/a', '/b', '/c', '/d', '/e']
  const answers = await Promise.all(paths.map((path) => world.send('GET', 'revoked.test', path)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  expect(server.issued).toHaveLength(length + 1)
  for (const path of paths) {
    const statuses = server.calls.filter((call) => call.path === path).map(({ status }) => status)
    expect(statuses.length).toBeLessThanOrEqual(2)
    expect(statuses.at(-1)).toBe(200)
  }
  const events = await here.sql(
    `select details from audit_events where details->>'change' = 'credential.refused'`,
  )
  expect(events).toMatchObject([{ details: { connector: 'default/revoked', gateway: 'default/local' } }])
  server.calls.splice(from)
})

/** Returns the distinct tokens of the next 20 requests, some of which are concurrent. */
async function nextTokens(name: string): Promise<readonly (string | null | undefined)[]> {
  const from = world.server.calls.length
  for (let round = 0; round < 5; round++)
    await Promise.all(Array.from({ length: 4 }, () => world.send('GET', `${name}.test`)))
  const calls = world.server.calls.slice(from)
  expect(calls.length).toBeGreaterThanOrEqual(20)
  return [...new Set(calls.map(({ token }) => token))]
}

test('a replaced stored secret ends the use of the token that the old one minted', async () => {
  const { server } = world
  await world.connect('replaced', {}, server.clientSecret)
  await world.ready('replaced')
  const old = server.calls.at(-1)?.token
  await world.connect('replaced', {}, 'another-secret')
  await eventually('the refusal', async () =>
    (await world.send('GET', 'replaced.test')).status === 503 ? true : null,
  )
  await world.connect('replaced', {}, server.clientSecret)
  await world.ready('replaced')
  const later = await nextTokens('replaced')
  expect(later).not.toContain(old)
  expect(later).toEqual([server.calls.at(-1)?.token])
})

test('without its stored secret or its exchange a Connector keeps no token and no refresh token in the database', async () => {
  const { server, here } = world
  const rows = (name: string) =>
    here.sql(`select m.serial from minted_credentials m join connectors c on c.id = m.connector_id
       where c.name = 'default/${name}'`)
  const minted = (name: string) =>
    eventually('a minted secret', async () => ((await rows(name)).length === 1 ? true : null))
  await world.connect('deleted', {}, server.clientSecret)
  await minted('deleted')
  await world.connect('deleted', {}, null)
  expect(await rows('deleted')).toEqual([])

  await world.connect('turned-off', {}, server.clientSecret)
  await minted('turned-off')
  const upstream = { url: server.url, allowPrivateAddresses: true, allowPlaintextCredential: true }
  const credential = { secretRef: { name: 'turned-off' } }
  await world.connect('turned-off', {}, server.clientSecret, { spec: { upstream, credential } })
  expect(await rows('turned-off')).toEqual([])

  const oauth2 = { tokenUrl: server.tokenUrl, clientId: server.clientId }
  await world.connect('vaulted', {}, null, { spec: { upstream, credential: { vault: 'vaulted', oauth2 } } })
  const path = '/api/dashboard/credentials'
  expect((await here.admin('PUT', path, { name: 'vaulted', secret: server.clientSecret })).status).toBe(200)
  await minted('vaulted')
  expect((await here.admin('DELETE', `${path}?name=vaulted`)).status).toBe(200)
  expect(await rows('vaulted')).toEqual([])
})

test('a rotated credential is replaced at once, over the API and by the command, and the next requests leave with the new token', async () => {
  const { server, here } = world
  const scopes = ['repo.write']
  const issued = () => server.issued.filter((one) => one.scopes.includes('repo.write'))
  await world.connect('turned', { scopes }, server.clientSecret)
  await world.ready('turned')
  const newest = (count: number) => eventually('a new token', () => issued()[count - 1] ?? null)
  const sent = (token: string) =>
    eventually('the new token', async () => {
      await world.send('GET', 'turned.test')
      return server.calls.at(-1)?.token === token ? true : null
    })
  const rotate = (name: string) => here.admin('POST', '/api/dashboard/credentials/rotate', { name })
  for (const [at, name] of ['turned', 'default/turned'].entries()) {
    expect((await rotate(name)).body).toEqual({ ok: true, name, connectors: ['default/turned'] })
    const rotated = await here.sql(
      `select details from audit_events where details->>'change' = 'credential.rotated' order by id desc limit 1`,
    )
    expect(rotated).toMatchObject([
      { details: { change: 'credential.rotated', credential: name, connectors: ['default/turned'] } },
    ])
    const { token } = await newest(at + 2)
    await sent(token)
    expect(await nextTokens('turned')).toEqual([token])
  }
  const env = { PATH: process.env['PATH'], CHAPERONE_URL: here.plane.url, CHAPERONE_TOKEN: here.adminToken }
  const child = spawn(process.execPath, [cliProgram(), 'credential', 'rotate', 'turned'], { env })
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect({ out, code }).toEqual({
    ...{ code: 0, out: 'The short-lived secret of turned is being replaced for default/turned.\n' },
  })
  await sent((await newest(4)).token)
  expect(server.calls.every(({ status }) => status === 200)).toBe(true)
  expect(await rotate('unknown')).toMatchObject({ status: 404 })
  const kept = { url: server.url, allowPrivateAddresses: true, allowPlaintextCredential: true }
  await world.connect('stored', {}, 'sent-as-it-is', {
    spec: { upstream: kept, credential: { secretRef: { name: 'stored' } } },
  })
  const refused = await rotate('stored')
  expect(refused).toMatchObject({ status: 409, text: expect.stringContaining('is sent as it is stored') })
})

type RecordedCredential = { readonly id: string; readonly source: string; readonly scope?: readonly string[] }

/** Returns the credentials in the records of a host, oldest first, once there are `count` records. */
function recorded(host: string, count: number): Promise<RecordedCredential[]> {
  return eventually(`${count} records of ${host}`, async () => {
    const { body } = await world.here.admin('GET', '/api/dashboard/traffic?limit=500')
    const rows = (body['traffic'] as Array<{ host: string; credential: RecordedCredential | null }>)
      .filter((row) => row.host === host)
      .flatMap(({ credential }) => credential ?? [])
    return rows.length < count ? null : rows.toReversed()
  })
}

test('records say from which source a stored credential comes, and which of its versions was sent', async () => {
  const { server, here } = world
  const upstream = { url: server.url, allowPrivateAddresses: true, allowPlaintextCredential: true }
  const sends = (name: string, token: string) =>
    eventually(`a request with ${token}`, async () => {
      await world.send('GET', `${name}.test`)
      return server.calls.at(-1)?.token === token ? true : null
    })
  const set = async (name: string, secret: string) => {
    const put = await here.admin('PUT', '/api/dashboard/credentials', { name, secret })
    expect(put.status, put.text).toBe(200)
  }
  const sources = {
    secretRef: (secret: string) =>
      world.connect('by-secretref', {}, secret, {
        spec: { upstream, credential: { secretRef: { name: 'by-secretref' } } },
      }),
    vault: async (secret: string) => {
      await world.connect('by-vault', {}, null, { spec: { upstream, credential: { vault: 'by-vault' } } })
      await set('by-vault', secret)
    },
  }
  for (const [source, change] of Object.entries(sources)) {
    const name = `by-${source.toLowerCase()}`
    for (const version of ['first', 'second', 'first']) {
      await change(`${version}-${name}`)
      await sends(name, `${version}-${name}`)
    }
    // A change takes effect after some requests, each of which has a record.
    const sent = server.calls.splice(0).filter(({ token }) => token?.endsWith(name))
    const credentials = await recorded(`${name}.test`, sent.length)
    const ids = [...new Set(credentials.map(({ id }) => id))]
    expect(new Set(credentials.map((one) => one.source))).toEqual(new Set([source]))
    // The id of a credential that is set again is the former id. It is no plain hash.
    expect(ids).toHaveLength(2)
    for (const id of ids) expect(id).toMatch(new RegExp(`^default/${name}/[0-9a-f]{12}$`))
    for (const secret of [`first-${name}`, `second-${name}`])
      expect(ids.join()).not.toContain(createHash('sha256').update(secret).digest('hex').slice(0, 12))
  }
})

test('records and the audit trail have source and scope of a token of the Connector', async () => {
  const { server, here } = world
  await world.connect('scoped', { scopes: ['repo.read'] }, server.clientSecret)
  await world.ready('scoped')
  const [credential] = await recorded('scoped.test', 1)
  expect(credential).toMatchObject({
    ...{ id: 'default/scoped/1', source: 'oauth2', scope: ['repo.read'] },
    expires_at: expect.stringMatching(/Z$/),
  })
  const events = await here.sql(
    `select details from audit_events where details->>'change' = 'credential.minted' and details->>'connector' = 'default/scoped'`,
  )
  expect(events).toMatchObject([{ details: { serial: 1, source: 'oauth2', scope: ['repo.read'] } }])
})

test('chaperone status has age, expiry and last error of each short-lived credential', async () => {
  const { server, here } = world
  await world.connect('shown', {}, server.clientSecret)
  await world.ready('shown')
  await world.connect('unshown', {}, 'another-secret')
  await eventually('the failure', async () => (await world.view('unshown')).minted?.error ?? null)
  const env = { PATH: process.env['PATH'], CHAPERONE_URL: here.plane.url, CHAPERONE_TOKEN: here.adminToken }
  const status = async (...options: string[]) => {
    const child = spawn(process.execPath, [cliProgram(), 'status', ...options], { env })
    return await text(child.stdout)
  }
  const shown = await status()
  expect(shown).toMatch(
    /^credential {5}default\/shown has a secret that is \d+ (s|min) old and expires in \d+ (s|min)$/m,
  )
  expect(shown).toMatch(/^credential {5}default\/unshown has no secret yet; last error: .*invalid_client/m)
  expect(JSON.parse(await status('--json'))).toMatchObject({
    short_lived_credentials: expect.arrayContaining([
      { connector: 'default/shown', minted: expect.objectContaining({ kind: 'oauth2', error: null }) },
    ]),
  })
  // Without a secret, the Connector causes no more minting.
  await world.connect('unshown', {}, null)
})

test('no secret is in the database, the logs, the journal, the replies and the audit log', async () => {
  const { server, here } = world
  server.failure = {
    status: 400,
    body: { error: 'invalid_grant', error_description: `bad secret ${server.clientSecret}` },
  }
  await world.connect('echoing', {}, server.clientSecret)
  const { minted } = await eventually('the failure', async () => {
    const found = await world.view('echoing')
    return found.minted?.error == null ? null : found
  })
  server.failure = null
  expect(minted?.error).toContain('invalid_grant (bad secret …)')
  const rows = await here.sql(
    `select (select json_agg(m)::text from minted_credentials m) as m, (select json_agg(c)::text from connectors c) as c,
       (select json_agg(a)::text from audit_events a) as a, (select json_agg(o)::text from manifest_objects o) as o,
       (select json_agg(t)::text from traffic t) as t`,
  )
  const replies = await Promise.all(
    [
      '/api/dashboard/connectors',
      '/api/dashboard/credentials',
      '/api/dashboard/audit',
      '/api/dashboard/traffic',
    ].map(async (path) => (await here.admin('GET', path)).text),
  )
  const exported = (await here.admin('GET', '/api/dashboard/export')).text
  const seen = [
    JSON.stringify(rows),
    ...replies,
    exported,
    here.plane.log(),
    world.gatewayLog(),
    ...filesOf(world.dataDir),
  ]
  const secrets = [
    server.clientSecret,
    server.refreshToken,
    server.subjectToken,
    ...server.issued.map(({ token }) => token),
  ]
  expect(secrets.length).toBeGreaterThan(5)
  for (const one of seen) for (const secret of secrets) expect(one.includes(secret)).toBe(false)
  expect(JSON.stringify(rows)).toContain('credential.minted')
})

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path, 'latin1'))
}

test('a tenant of a cluster cannot make the control plane call private addresses or send a secret in clear text', async () => {
  const { server } = world
  const cluster = { source: 'kubernetes' } as const
  const plain = await world.connect('tenant', {}, 'secret-of-the-tenant', cluster)
  expect(plain).toMatchObject({ accepted: false, reasons: [expect.stringContaining('is plain http')] })
  const inside = { audience: 'tenant', tokenUrl: server.tokenUrl.replace('http:', 'https:') }
  expect(await world.connect('tenant', inside, 'secret-of-the-tenant', cluster)).toMatchObject({
    accepted: true,
  })
  const { minted } = await eventually('the refusal', async () => {
    const found = await world.view('tenant')
    return found.minted?.error == null ? null : found
  })
  expect(minted?.error).toMatch(/127\.0\.0\.1.* nothing was sent/)
  expect(server.forms.filter((form) => form.get('audience') === 'tenant')).toEqual([])
  const metadata = await world.connect('imds', { tokenUrl: 'https://169.254.169.254/token' }, 'x', cluster)
  expect(metadata).toMatchObject({ accepted: true })
  const refused = await eventually(
    'the refusal',
    async () => (await world.view('imds')).minted?.error ?? null,
  )
  expect(refused).toContain('169.254.169.254')
  const chat = await world.connect('talk', {}, 'x', { type: 'chat' })
  expect(chat).toMatchObject({
    accepted: false,
    reasons: [expect.stringContaining('must be a stored token for type chat')],
  })
})
