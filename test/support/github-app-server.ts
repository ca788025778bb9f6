import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { jwtVerify } from 'jose'
import { runGitBackend } from './git-backend.ts'

export type InstallationToken = {
  readonly token: string
  readonly repositories: readonly string[]
  readonly permissions: Readonly<Record<string, string>>
  readonly expiresAtMs: number
}

/**
 * API of a code host with one GitHub App, installed at the organisation `acme` with the repositories `site` and `tools`. It
 * verifies app tokens as the code host documents it, and refuses requests that an installation token does not cover: 401
 * without a valid token, 404 for another repository, 403 without the permissions that the code host publishes for the
 * operation. With `gitRoot` it also serves the repositories over git.
 */
export type GithubAppServer = AsyncDisposable & {
  readonly url: string
  readonly appId: string
  readonly installationId: number
  /** PEM in PKCS #1, as the code host issues it. */
  readonly privateKey: string
  readonly issued: InstallationToken[]
  readonly calls: Array<{ method: string; path: string; token: string | null; status: number }>
  /** Lifetime of tokens in milliseconds. */
  lifetimeMs: number
  /** True while no token is issued (503). */
  isDown: boolean
  /** Folder with `acme/NAME.git`; null without git. */
  gitRoot: string | null
}

const PERMISSIONS: Readonly<Record<string, string>> = {
  contents: 'write',
  issues: 'write',
  metadata: 'read',
  pull_requests: 'write',
  workflows: 'write',
}
const MAX_APP_TOKEN_S = 600

/** @param installed Repositories of the installation, without their owner. */
export async function startGithubAppServer(
  installed: readonly string[] = ['site', 'tools'],
): Promise<GithubAppServer> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const server = createServer((request, reply) => void serve(request, reply))
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const own: GithubAppServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    appId: 'Iv23liAcme',
    installationId: 4_815_162,
    privateKey: privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
    issued: [],
    calls: [],
    lifetimeMs: 3_600_000,
    isDown: false,
    gitRoot: null,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return own

  async function serve(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    if (/^\/acme\/[^/]+\.git\//.test(path)) return serveGit(request, reply)
    const body = await text(request)
    const token = /^(?:Bearer|token) (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? null
    const asApp = /^\/app\/installations\/(\d+)(\/access_tokens)?$/.exec(path)
    const answer = asApp === null ? answerOf(request, token) : await answerApp(request, asApp, token, body)
    if (asApp === null) own.calls.push({ method: request.method ?? '', path, token, status: answer.status })
    reply.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
  }

  async function answerApp(
    { method }: IncomingMessage,
    [, installation, tokens]: RegExpExecArray,
    token: string | null,
    body: string,
  ): Promise<Reply> {
    if (own.isDown) return refusal(503, 'Unavailable')
    if (token === null || !(await isAppToken(token)))
      return refusal(401, 'A JSON web token could not be decoded')
    if (Number(installation) !== own.installationId) return refusal(404, 'Not Found')
    if (tokens !== undefined && method === 'POST') return issue(body)
    return {
      status: 200,
      body: { id: own.installationId, account: { login: 'Acme' }, permissions: PERMISSIONS },
    }
  }

  function issue(body: string): Reply {
    const asked = JSON.parse(body) as Partial<Pick<InstallationToken, 'repositories' | 'permissions'>>
    const { repositories = installed, permissions = PERMISSIONS } = asked
    const isCovered =
      repositories.every((name) => installed.includes(name)) &&
      Object.entries(permissions).every(([name, access]) => covers(PERMISSIONS[name], access))
    if (!isCovered) return refusal(422, 'The permissions requested are not granted to this installation.')
    // Like the code host, which has no fractions of a second.
    const expiresAtMs = Math.floor(Date.now() / 1_000) * 1_000 + own.lifetimeMs
    const issued = {
      token: `ghs_${randomUUID().replaceAll('-', '')}`,
      repositories,
      permissions,
      expiresAtMs,
    }
    own.issued.push(issued)
    const expires = new Date(expiresAtMs).toISOString().replace('.000Z', 'Z')
    return { status: 201, body: { token: issued.token, expires_at: expires, permissions } }
  }

  async function isAppToken(token: string): Promise<boolean> {
    try {
      const { payload } = await jwtVerify(token, publicKey, { algorithms: ['RS256'], issuer: own.appId })
      const { iat = Number.NaN, exp = Number.NaN } = payload
      return exp - Date.now() / 1_000 <= MAX_APP_TOKEN_S && iat <= Date.now() / 1_000
    } catch {
      return false
    }
  }

  function answerOf({ method = 'GET', url = '' }: IncomingMessage, token: string | null): Reply {
    const found = validToken(token)
    if (found === undefined) return refusal(401, 'Bad credentials')
    const { pathname } = new URL(url, own.url)
    const [, repository = ''] = /^\/repos\/acme\/([^/]+)/i.exec(pathname) ?? []
    if (!found.repositories.includes(repository)) return refusal(404, 'Not Found')
    const missing = permissionsFor(method, pathname).find(
      ([name, access]) => !covers(found.permissions[name], access),
    )
    if (missing !== undefined) return refusal(403, 'Resource not accessible by integration')
    return { status: 200, body: { full_name: `acme/${repository}`, state: 'open', merged: true } }
  }

  function validToken(token: string | null): InstallationToken | undefined {
    return own.issued.find((one) => one.token === token && Date.now() < one.expiresAtMs)
  }

  function serveGit(request: IncomingMessage, reply: ServerResponse): void {
    const basic = Buffer.from(/^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '', 'base64')
    const token = /^x-access-token:(.+)$/.exec(basic.toString())?.[1] ?? null
    const found = validToken(token)
    const path = request.url ?? ''
    const repository = /^\/acme\/([^/]+)\.git\//.exec(path)?.[1] ?? ''
    const access = path.includes('receive-pack') ? 'write' : 'read'
    const isCovered =
      found?.repositories.includes(repository) === true && covers(found.permissions['contents'], access)
    const status = found === undefined ? 401 : isCovered && own.gitRoot !== null ? 200 : 403
    own.calls.push({ method: request.method ?? '', path, token, status })
    const env = { WORKFLOWS: found?.permissions['workflows'] ?? 'none' }
    if (status === 200 && own.gitRoot !== null) runGitBackend(own.gitRoot, request, reply, env)
    else reply.writeHead(status, { 'www-authenticate': 'Basic realm="git"' }).end()
  }
}

type Reply = { readonly status: number; readonly body: unknown }

function refusal(status: number, message: string): Reply {
  return { status, body: { message, documentation_url: 'https://docs.github.com/rest' } }
}

function covers(granted: string | undefined, access: string): boolean {
  return granted === access || granted === 'admin' || (granted === 'write' && access === 'read')
}

const PUBLISHED = new URL('../golden/published/codehost-permissions.tsv', import.meta.url)

/** Operations with their permissions, as the code host publishes them. */
const operations = readFileSync(PUBLISHED, 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [method = '', template = '', permissions = ''] = line.split('\t')
    const path = template.replaceAll('{path}', '.+').replaceAll(/\{[^}]*\}/g, '[^/]+')
    return { method, path: new RegExp(`^${path}$`), permissions: permissions.split(',') }
  })

/** Returns the permissions for a request. Changes of workflows need a permission that other files do not need. */
function permissionsFor(method: string, path: string): ReadonlyArray<readonly [string, string]> {
  const found = operations.find((one) => one.method === method && one.path.test(path))
  const needed = found?.permissions ?? ['administration:write']
  return needed
    .map((one) => one.split(':') as [string, string])
    .filter(([name]) => name !== 'workflows' || path.includes('.github/workflows'))
}
