import { generateKeyPairSync } from 'node:crypto'
import { Octokit } from '@octokit/rest'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type GithubAppServer, startGithubAppServer } from '../support/github-app-server.ts'
import { type MintedWorld, startMintedWorld } from './minted-world.ts'

let world: MintedWorld
let server: GithubAppServer
beforeAll(async () => {
  ;[world, server] = await Promise.all([startMintedWorld(), startGithubAppServer()])
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

function connect(name: string, app: object, key: string, source: 'file' | 'kubernetes' = 'file') {
  const { appId, installationId, url } = server
  const upstream = { url, allowPrivateAddresses: true, allowPlaintextCredential: true }
  const githubApp = { appId, installationId, apiUrl: url, ...app }
  const credential = { secretRef: { name }, githubApp }
  return world.connect(name, {}, key, { type: 'codehost', source, spec: { upstream, credential } })
}

async function ready(name: string): Promise<void> {
  await eventually('a request that is answered', async () =>
    (await world.send('GET', `${name}.test`, '/repos/acme/site')).status === 200 ? true : null,
  )
}

const failureOf = (name: string) =>
  eventually('the failure', async () => (await world.view(name)).minted?.error ?? null)

test('the gateway sends an installation token, never the private key', async () => {
  expect(await connect('app', {}, server.privateKey)).toMatchObject({ accepted: true, reasons: [] })
  await ready('app')
  expect((await world.view('app')).minted).toMatchObject({ kind: 'githubApp', error: null })
  expect(server.calls.at(-1)?.token).toBe(server.issued.at(-1)?.token)
  expect((await world.send('GET', 'app.test', '/repos/acme/tools')).status).toBe(200)
  const rows = await world.here.sql(
    `select (select json_agg(m)::text from minted_credentials m) as m, (select json_agg(c)::text from connectors c) as c,
       (select json_agg(a)::text from audit_events a) as a, (select json_agg(o)::text from manifest_objects o) as o`,
  )
  const seen = [JSON.stringify(rows), world.here.plane.log(), world.gatewayLog()]
  const [line = ''] = server.privateKey.split('\n').slice(1)
  for (const secret of [line, ...server.issued.map(({ token }) => token)])
    for (const text of seen) expect(text.includes(secret)).toBe(false)
})

test('octokit with a token that is narrowed to one repository and one permission reaches nothing else', async () => {
  const narrow = { repositories: ['site'], permissions: ['contents:read', 'metadata:read'] }
  await connect('narrow', narrow, Buffer.from(server.privateKey).toString('base64'))
  await ready('narrow')
  const permissions = { contents: 'read', metadata: 'read' }
  expect(server.issued).toContainEqual(expect.objectContaining({ repositories: ['site'], permissions }))
  const octokit = new Octokit({
    baseUrl: 'http://narrow.test',
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    request: { fetch: fetchThroughGateway },
  })
  const site = await octokit.request('GET /repos/{owner}/{repo}', { owner: 'acme', repo: 'site' })
  expect(site.data).toMatchObject({ full_name: 'acme/site' })
  const other = octokit.request('GET /repos/{owner}/{repo}', { owner: 'acme', repo: 'tools' })
  await expect(other).rejects.toMatchObject({ status: 404 })
  const merge = octokit.request('PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge', {
    ...{ owner: 'acme', repo: 'site', pull_number: 7 },
  })
  await expect(merge).rejects.toMatchObject({ status: 403 })
})

async function fetchThroughGateway(url: string, init: RequestInit): Promise<Response> {
  const { host, pathname, search } = new URL(url)
  const { status, text, headers } = await world.send(init.method ?? 'GET', host, pathname + search)
  return new Response(text, { status, headers: { 'content-type': String(headers['content-type']) } })
}

test('a wrong key, a wrong installation and a missing permission are errors that say what to change', async () => {
  await connect('nokey', {}, 'not a key')
  expect(await failureOf('nokey')).toContain('The stored secret is not an RSA private key.')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 })
  await connect('short', {}, privateKey.export({ type: 'pkcs1', format: 'pem' }).toString())
  expect(await failureOf('short')).toContain('has 1024 bits, and at least 2048 are required.')
  await connect('gone', { installationId: 1 }, server.privateKey)
  expect(await failureOf('gone')).toContain('(status 404: Not Found). Check the installation id.')
  await connect('other', { appId: 'another' }, server.privateKey)
  expect(await failureOf('other')).toContain('Check the app id')
  await connect('wide', { permissions: ['administration:write'] }, server.privateKey)
  expect(await failureOf('wide')).toContain('The installation lacks a repository or a permission')
  // The gateway may not have the Connector yet, and then refuses its host.
  const status = async () => (await world.send('GET', 'wide.test', '/repos/acme/site')).status
  await expect.poll(status, { timeout: 60_000 }).toBe(503)
})

test('a tenant of a cluster cannot have the key used at a private address', async () => {
  const before = server.issued.length
  const plain = await connect('tenant', {}, server.privateKey, 'kubernetes')
  expect(plain).toMatchObject({ accepted: false, reasons: [expect.stringContaining('is plain http')] })
  const inside = { apiUrl: server.url.replace('http:', 'https:') }
  expect(await connect('tenant', inside, server.privateKey, 'kubernetes')).toMatchObject({ accepted: true })
  expect(await failureOf('tenant')).toContain('127.0.0.1')
  expect(server.issued.length).toBe(before)
})
