import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** Access token that the server issued. */
export type IssuedToken = {
  readonly token: string
  readonly scopes: readonly string[]
  readonly grant: string
  /** Time of expiry in milliseconds since the epoch. */
  readonly expiresAtMs: number
  isRevoked: boolean
}

/**
 * Authorization server (RFC 6749, RFC 8693) and the API that it protects (RFC 6750). It authenticates its client, rotates
 * refresh tokens, refuses scopes that the client does not have, and refuses expired and revoked tokens with 401.
 */
export type OAuth2Server = AsyncDisposable & {
  readonly url: string
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly refreshToken: string
  readonly subjectToken: string
  /** Lifetime of the next tokens in seconds. */
  lifetimeS: number
  /** Answer of the token endpoint in place of a token: closes the connection, or sends this status and body. */
  failure: 'close' | { readonly status: number; readonly body: unknown } | null
  readonly issued: IssuedToken[]
  /** Requests to the API: the method, the path, the bearer token and the status of the answer. */
  readonly calls: Array<{ method: string; path: string; token: string | null; status: number }>
  /** Forms that the token endpoint received. */
  readonly forms: URLSearchParams[]
}

const SCOPES = ['repo.read', 'repo.write']

export async function startOAuth2Server(): Promise<OAuth2Server> {
  const refreshTokens = new Set<string>()
  const server = createServer((request, reply) => void serve(request, reply))
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const refreshToken = `refresh-${randomUUID()}`
  refreshTokens.add(refreshToken)
  const own: OAuth2Server = {
    url,
    tokenUrl: `${url}/oauth2/token`,
    clientId: 'chaperone',
    clientSecret: `client-secret-${randomUUID()}`,
    refreshToken,
    subjectToken: `subject-${randomUUID()}`,
    lifetimeS: 3_600,
    failure: null,
    issued: [],
    calls: [],
    forms: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return own

  async function serve(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const body = await text(request)
    if (request.url === '/oauth2/token') {
      token(request, reply, body)
      return
    }
    const given = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? null
    const found = own.issued.find((one) => one.token === given)
    const isValid = found !== undefined && !found.isRevoked && Date.now() < found.expiresAtMs
    const status = isValid ? 200 : 401
    own.calls.push({ method: request.method ?? '', path: request.url ?? '', token: given, status })
    if (!isValid) reply.setHeader('www-authenticate', 'Bearer error="invalid_token"')
    const answer = { path: request.url, scopes: found?.scopes }
    send(reply, status, isValid ? answer : { message: 'Bad credentials' })
  }

  function token(request: IncomingMessage, reply: ServerResponse, body: string): void {
    const form = new URLSearchParams(body)
    own.forms.push(form)
    if (own.failure === 'close') request.socket.destroy()
    else {
      const { status, body: answer } = own.failure ?? answerOf(request, form)
      reply.setHeader('cache-control', 'no-store')
      send(reply, status, answer)
    }
  }

  function answerOf(request: IncomingMessage, form: URLSearchParams): { status: number; body: unknown } {
    if (!isClient(request, form)) return { status: 401, body: { error: 'invalid_client' } }
    const grant = form.get('grant_type') ?? ''
    const scopes = (form.get('scope') ?? 'repo.read').split(' ')
    if (scopes.some((scope) => !SCOPES.includes(scope)))
      return { status: 400, body: { error: 'invalid_scope' } }
    const extra = extraOf(grant, form)
    if (extra === null) return { status: 400, body: { error: 'invalid_grant' } }
    const token = `access-${randomUUID()}`
    const expiresAtMs = Date.now() + own.lifetimeS * 1_000
    own.issued.push({ token, scopes, grant, expiresAtMs, isRevoked: false })
    const body = { access_token: token, token_type: 'Bearer', expires_in: own.lifetimeS, ...extra }
    return { status: 200, body }
  }

  function isClient({ headers }: IncomingMessage, form: URLSearchParams): boolean {
    const given = Buffer.from(headers.authorization?.replace(/^Basic /, '') ?? '', 'base64').toString()
    // Id and secret are form-encoded before they are joined (RFC 6749, section 2.3.1).
    const isBasic =
      given.split(':').map(decodeURIComponent).join(':') === `${own.clientId}:${own.clientSecret}`
    const isPosted = form.get('client_id') === own.clientId && form.get('client_secret') === own.clientSecret
    return isBasic || isPosted
  }

  /** Checks the grant and returns its further members of the answer; null for an invalid grant. */
  function extraOf(grant: string, form: URLSearchParams): object | null {
    if (grant === 'client_credentials') return {}
    if (grant === 'urn:ietf:params:oauth:grant-type:token-exchange') {
      if (form.get('subject_token') !== own.subjectToken) return null
      return { issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' }
    }
    if (grant !== 'refresh_token' || !refreshTokens.delete(form.get('refresh_token') ?? '')) return null
    const next = `refresh-${randomUUID()}`
    refreshTokens.add(next)
    return { refresh_token: next }
  }
}

function send(reply: ServerResponse, status: number, body: unknown): void {
  reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
