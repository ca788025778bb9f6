import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Octokit } from '@octokit/rest'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { createGitRepository, type GitRepository } from '../support/git-repository.ts'
import { type GithubAppServer, startGithubAppServer } from '../support/github-app-server.ts'
import { type MintedWorld, startMintedWorld } from './minted-world.ts'

const run = promisify(execFile)
let world: MintedWorld
let server: GithubAppServer
let origin: GitRepository
let folder: string

beforeAll(async () => {
  ;[world, server] = await Promise.all([startMintedWorld(), startGithubAppServer()])
  folder = mkdtempSync(join(tmpdir(), 'chaperone-narrowed-'))
  origin = createGitRepository()
  origin.git(['commit', '-q', '--allow-empty', '-m', 'first'])
  server.gitRoot = join(folder, 'served')
  for (const name of ['site', 'tools']) serveRepository(name)
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  origin?.remove()
  rmSync(folder, { recursive: true, force: true })
})

/** Refuses a push that changes workflows without the permission, as the code host does. */
const PRE_RECEIVE = `#!/bin/sh
while read old new ref; do
  git ls-tree -r --name-only "$new" | grep -q '^.github/workflows/' && [ "$WORKFLOWS" != write ] && {
    echo 'refusing to allow a GitHub App to create or update workflow without workflows permission' >&2; exit 1; }
done
exit 0
`

function serveRepository(name: string): void {
  const bare = join(server.gitRoot ?? '', 'acme', `${name}.git`)
  mkdirSync(join(server.gitRoot ?? '', 'acme'), { recursive: true })
  origin.git(['clone', '-q', '--bare', '.', bare])
  origin.git(['-C', bare, 'config', 'http.receivepack', 'true'])
  const hook = join(bare, 'hooks', 'pre-receive')
  mkdirSync(join(bare, 'hooks'), { recursive: true })
  writeFileSync(hook, PRE_RECEIVE)
  chmodSync(hook, 0o755)
}

function connect(name: string, app: object = {}) {
  const { appId, installationId, url } = server
  const upstream = { url, allowPrivateAddresses: true, allowPlaintextCredential: true }
  const githubApp = { appId, installationId, apiUrl: url, ...app }
  const credential = { secretRef: { name }, githubApp }
  return world.connect(name, {}, server.privateKey, { type: 'codehost', spec: { upstream, credential } })
}

/** Applies a Connector and waits until its gateway has a token. */
async function ready(name: string, app: object = {}): Promise<void> {
  await connect(name, app)
  await eventually('a request that is answered', async () =>
    (await world.send('GET', `${name}.test`, '/repos/acme/site')).status === 200 ? true : null,
  )
}

/** Returns the token with which the last request reached the code host. */
function lastToken() {
  const token = server.calls.at(-1)?.token
  return server.issued.find((one) => one.token === token)
}

function octokitOf(name: string): Octokit {
  const quiet = () => undefined
  return new Octokit({
    baseUrl: `http://${name}.test`,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    request: {
      fetch: async (url: string, init: RequestInit) => {
        const { host, pathname, search } = new URL(url)
        const { status, text, headers } = await world.send(init.method ?? 'GET', host, pathname + search)
        return new Response(text, { status, headers: { 'content-type': String(headers['content-type']) } })
      },
    },
  })
}

const SITE = { owner: 'acme', repo: 'site' }
const MERGE = { contents: 'write', metadata: 'read', pull_requests: 'write' }

test('octokit merges with a token of its repository that can merge and nothing else, and a second merge adds no call', async () => {
  await ready('app')
  const octokit = octokitOf('app')
  await octokit.pulls.merge({ ...SITE, pull_number: 7 })
  const token = lastToken()
  expect(token).toMatchObject({ repositories: ['site'], permissions: MERGE })
  const { length } = server.issued
  await octokit.pulls.merge({ ...SITE, pull_number: 8 })
  expect(lastToken()).toBe(token)
  expect(server.issued).toHaveLength(length)
  // The code host refuses the token for another repository, and for what the action does not need.
  const direct = (path: string) =>
    fetch(`${server.url}${path}`, { headers: { authorization: `token ${token?.token}` } })
  expect((await direct('/repos/acme/tools/pulls/1')).status).toBe(404)
  expect((await direct('/repos/acme/site/issues/1')).status).toBe(403)
  expect((await direct('/repos/acme/site/pulls/1')).status).toBe(200)
})

test('each repository and each action has a token of its own', async () => {
  const octokit = octokitOf('app')
  await octokit.pulls.get({ owner: 'acme', repo: 'tools', pull_number: 1 })
  expect(lastToken()).toMatchObject({
    ...{
      repositories: ['tools'],
      permissions: { contents: 'read', metadata: 'read', pull_requests: 'read' },
    },
  })
  await octokit.issues.createComment({ ...SITE, issue_number: 1, body: 'x' })
  expect(lastToken()).toMatchObject({
    ...{ repositories: ['site'], permissions: { issues: 'write', metadata: 'read', pull_requests: 'write' } },
  })
})

test('an action without known permissions is sent with the token of the Connector', async () => {
  const whole = server.issued.find(({ repositories }) => repositories.length === 2)
  await world.send('GET', 'app.test', '/search/code?q=x')
  expect(lastToken()).toMatchObject({
    repositories: whole?.repositories,
    permissions: whole?.permissions,
  })
})

test('another owner and an unknown repository get a token that can read public content only', async () => {
  for (const path of ['/repos/other/site/pulls/1', '/repos/acme/unknown/pulls/1']) {
    await world.send('GET', 'app.test', path)
    expect(lastToken()?.permissions, path).toEqual({ metadata: 'read' })
  }
})

test('a Connector with `narrow: false` sends its own token', async () => {
  await ready('plain', { narrow: false })
  await octokitOf('plain').pulls.merge({ ...SITE, pull_number: 7 })
  expect(lastToken()).toMatchObject({ repositories: ['site', 'tools'], permissions: { issues: 'write' } })
})

test('a token has no permission that the Connector does not have', async () => {
  await ready('limited', { repositories: ['site'], permissions: ['contents:read', 'pull_requests:write'] })
  const { status } = await world.send('PUT', 'limited.test', '/repos/acme/site/pulls/7/merge')
  expect(status).toBe(403)
  expect(lastToken()).toMatchObject({
    ...{
      repositories: ['site'],
      permissions: { contents: 'read', metadata: 'read', pull_requests: 'write' },
    },
  })
})

test('git fetches with a token that reads, pushes with one that writes, and changes workflows only where a push does', async () => {
  await ready('git')
  const clone = join(folder, 'clone')
  const env = {
    ...process.env,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    http_proxy: world.proxyUrl,
  }
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']
  const git = (...args: string[]) => run('git', [...author, ...args], { env, cwd: folder })
  await git('clone', '-q', 'http://git.test/acme/site.git', clone)
  expect(lastToken()).toMatchObject({
    ...{ repositories: ['site'], permissions: { contents: 'read', metadata: 'read' } },
  })
  writeFileSync(join(clone, 'README.md'), 'text\n')
  await git('-C', clone, 'add', '.')
  await git('-C', clone, 'commit', '-q', '-m', 'second')
  await git('-C', clone, 'push', '-q', 'origin', 'main')
  expect(lastToken()?.permissions).toEqual({ contents: 'write', metadata: 'read' })
  mkdirSync(join(clone, '.github', 'workflows'), { recursive: true })
  writeFileSync(join(clone, '.github', 'workflows', 'ci.yml'), 'on: push\n')
  await git('-C', clone, 'add', '.')
  await git('-C', clone, 'commit', '-q', '-m', 'third')
  await git('-C', clone, 'push', '-q', 'origin', 'main')
  expect(lastToken()?.permissions).toEqual({ contents: 'write', metadata: 'read', workflows: 'write' })
})

test('a held request is sent with its narrowed token after the approval', async () => {
  const answer = world.send('PUT', 'app.test', '/repos/acme/site/pulls/7/update-branch')
  const id = await eventually('the approval', async () => {
    const { body } = await world.here.admin('GET', '/api/dashboard/proxy-approvals?status=pending')
    return (body['approvals'] as Array<{ id: string }> | undefined)?.[0]?.id ?? null
  })
  const approved = await world.here.admin('POST', '/api/dashboard/proxy-approvals', { id, approved: true })
  expect(approved.status, approved.text).toBe(200)
  expect((await answer).status).toBe(200)
  expect(lastToken()).toMatchObject({
    ...{ repositories: ['site'], permissions: { metadata: 'read', pull_requests: 'write' } },
  })
})

type Row = { path: string; credential: Record<string, unknown> | null; decision: string }

/** Returns the records of the requests whose path ends so, once they are stored. */
function recordsOf(host: string, path: string): Promise<Row[]> {
  return eventually('the record', async () => {
    const { body } = await world.here.admin('GET', '/api/dashboard/traffic?limit=500')
    const rows = (body['traffic'] as Array<Row & { host: string }>).filter(
      (row) => row.host === host && row.path.startsWith(path),
    )
    return rows.length === 0 ? null : rows
  })
}

test('records and the audit trail have id, source, scope and expiry of the credential, and no secret anywhere', async () => {
  const [merge] = await recordsOf('app.test', '/repos/acme/site/pulls/7/merge')
  expect(merge?.credential).toEqual({
    ...{ id: expect.stringMatching(/^tok_/), source: 'githubApp' },
    scope: ['Acme/site', 'contents:write', 'metadata:read', 'pull_requests:write'],
    expires_at: expect.stringMatching(/Z$/),
  })
  const [search] = await recordsOf('app.test', '/search/code')
  expect(search?.credential).toMatchObject({
    ...{ id: expect.stringMatching(/^default\/app\/\d+$/), source: 'githubApp' },
    not_narrowed:
      'It is not known which permissions codehost.search.code needs, so its requests are sent with the token of the Connector, which is not limited to single requests.',
  })
  const [plain] = await recordsOf('plain.test', '/repos/acme/site/pulls/7/merge')
  expect(plain?.credential).toMatchObject({ id: expect.stringMatching(/^default\/plain\/\d+$/) })
  expect(plain?.credential).not.toHaveProperty('scope')
  const [held] = await recordsOf('app.test', '/repos/acme/site/pulls/7/update-branch')
  const events = await world.here.sql('select details from audit_events')
  const details = events.map((row) => row['details'] as Record<string, unknown>)
  expect(details).toContainEqual(
    expect.objectContaining({ change: 'credential.narrowed', credential: merge?.credential?.['id'] }),
  )
  expect(details).toContainEqual(
    expect.objectContaining({ path: '/repos/acme/site/pulls/7/update-branch', credential: held?.credential }),
  )
  const rows = await world.here.sql(
    `select (select json_agg(t)::text from traffic t) as t, (select json_agg(m)::text from minted_credentials m) as m,
       (select json_agg(a)::text from audit_events a) as a`,
  )
  const seen = [JSON.stringify(rows), world.here.plane.log(), world.gatewayLog(), ...journalTexts()]
  for (const { token } of server.issued) for (const text of seen) expect(text.includes(token)).toBe(false)
})

function journalTexts(): readonly string[] {
  const files = readdirSync(world.dataDir, { recursive: true, withFileTypes: true })
  return files
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'))
}

test('a Connector with `scopesByAction` sends tokens with the scopes of the actions', async () => {
  const row = (method: string, action: string, effect: string) => ({
    ...{ method, path: '/orders', action: `generic.orders.${action}`, effect, risk: 'low' },
  })
  const oauth2 = {
    scopes: ['repo.read', 'repo.write'],
    scopesByAction: [
      { actionPattern: 'generic.orders.*', scopes: ['repo.write'] },
      { actionPattern: 'generic.orders.list', scopes: ['repo.read'] },
    ],
  }
  const spec = { actions: [row('GET', 'list', 'read'), row('POST', 'create', 'write')] }
  const reply = await world.connect('scoped', oauth2, world.server.clientSecret, { spec })
  expect(reply).toMatchObject({ accepted: true })
  await world.ready('scoped')
  const scopesOf = async (method: string, path: string) => {
    expect((await world.send(method, 'scoped.test', path)).status).toBe(200)
    const { token } = world.server.calls.at(-1) ?? {}
    return world.server.issued.find((one) => one.token === token)?.scopes
  }
  expect(await scopesOf('GET', '/orders')).toEqual(['repo.read'])
  expect(await scopesOf('POST', '/orders')).toEqual(['repo.write'])
  expect(await scopesOf('GET', '/')).toEqual(['repo.read', 'repo.write'])
  const { length } = world.server.issued
  expect(await scopesOf('GET', '/orders')).toEqual(['repo.read'])
  expect(world.server.issued).toHaveLength(length)
})

test('tokens of 2 s are replaced in time', async () => {
  server.lifetimeMs = 3_000
  await ready('short')
  const until = server.issued.length + 6
  const statuses: number[] = []
  await eventually('six further tokens', async () => {
    statuses.push((await world.send('GET', 'short.test', '/repos/acme/site/pulls/1')).status)
    return server.issued.length >= until ? true : null
  })
  expect(new Set(statuses)).toEqual(new Set([200]))
  server.lifetimeMs = 3_600_000
})

test('without the control plane a known need is sent with its last token, and a new one gets 503', async () => {
  await octokitOf('app').pulls.get({ ...SITE, pull_number: 1 })
  await world.here.stop()
  await eventually('the refusal of a need without a token', async () => {
    const answer = await world.send('GET', 'app.test', '/repos/acme/tools/issues/1')
    if (answer.status !== 503) return null
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    expect(JSON.parse(answer.text)).toMatchObject({ error: 'credential unavailable' })
    expect(answer.text).toContain('has no token for codehost.issue.get, so the request cannot be sent.')
    return true
  })
  expect((await octokitOf('app').pulls.get({ ...SITE, pull_number: 2 })).status).toBe(200)
})
