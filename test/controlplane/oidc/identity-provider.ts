import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

/** What the provider says of a user. */
export type Account = Readonly<Record<string, unknown>> & { readonly sub: string }

/** An answer of the provider, before it reaches the control plane or the browser. */
export type ProviderAnswer = {
  status: number
  headers: Record<string, string | string[]>
  body: string
}

/** A real identity provider (oidc-provider) behind a front that can change its answers. */
export type IdentityProvider = AsyncDisposable & {
  readonly issuer: string
  /** By subject; a deleted one is refused from then on. */
  readonly accounts: Map<string, Account>
  /** Who signs in next. */
  signIn: string
  /** Whether it issues refresh tokens. */
  hasRefreshTokens: boolean
  /** Runs over every answer; null = unchanged. */
  tamper: ((path: string, answer: ProviderAnswer) => void | Promise<void>) | null
  /** Whether it answers at all. */
  isUp: boolean
  /** Paths of the requests that reached it. */
  readonly calls: string[]
  /** Signs with the key of the provider. */
  sign(claims: JWTPayload, header?: Readonly<Record<string, unknown>>): Promise<string>
  readonly privateKey: CryptoKey
  /** Redirect URIs have to be known: the control plane is started in between. */
  serve(redirectUri: string): void
}

export const CLIENT_ID = 'chaperone'
export const CLIENT_SECRET = 'secret-of-the-client-at-the-provider'

/** Not named literally: the type checker needs no declarations of the package. */
const PACKAGE: string = 'oidc-provider'
type Handler = (request: IncomingMessage, reply: ServerResponse) => void
type RealProvider = {
  callback(): Handler
  interactionFinished(request: IncomingMessage, reply: ServerResponse, result: object): Promise<void>
  on(event: string, listener: (...args: unknown[]) => void): void
}
type Grant = { addOIDCScope(scope: string): void; save(): Promise<string> }
type Context = {
  readonly oidc: {
    readonly provider: { readonly Grant: new (of: object) => Grant }
    readonly client: { readonly clientId: string }
    readonly session: { readonly accountId: string }
  }
}

export async function startIdentityProvider(
  options: { readonly path?: string; readonly conformIdTokenClaims?: boolean } = {},
): Promise<IdentityProvider> {
  const { default: Provider } = (await import(PACKAGE)) as {
    default: new (issuer: string, config: object) => RealProvider
  }
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(privateKey)), kid: 'key-1', alg: 'RS256', use: 'sig' }
  let real: RealProvider | null = null
  const inner = createServer((incoming, reply) => serveReal(incoming, reply))
  const front = createServer((incoming, reply) => void forward(incoming, reply))
  const innerPort = await listen(inner)
  const issuer = `http://127.0.0.1:${await listen(front)}`

  function serveReal(incoming: IncomingMessage, reply: ServerResponse): void {
    if (real === null) return void reply.writeHead(503).end()
    if (!incoming.url?.startsWith('/interaction/')) {
      real.callback()(incoming, reply)
      return
    }
    const result = { login: { accountId: provider.signIn } }
    real.interactionFinished(incoming, reply, result).catch(() => reply.writeHead(400).end())
  }

  async function forward(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
    const path = incoming.url?.split('?')[0] ?? ''
    provider.calls.push(path)
    if (!provider.isUp) return void incoming.socket.destroy()
    const body = await buffer(incoming)
    const { method, headers, url } = incoming
    const onward = request({ port: innerPort, host: '127.0.0.1', method, headers, path: url })
    onward.end(body)
    const answered = await new Promise<IncomingMessage>((resolve) => onward.once('response', resolve))
    const answer: ProviderAnswer = {
      status: answered.statusCode ?? 500,
      headers: Object.fromEntries(
        Object.entries(answered.headers).filter(
          ([name]) => !/^(content-length|transfer-encoding|connection)$/.test(name),
        ),
      ) as Record<string, string | string[]>,
      body: (await buffer(answered)).toString('utf8'),
    }
    await provider.tamper?.(path, answer)
    reply.writeHead(answer.status, answer.headers).end(answer.body)
  }

  const provider: IdentityProvider = {
    issuer,
    accounts: new Map(),
    signIn: '',
    hasRefreshTokens: true,
    tamper: null,
    isUp: true,
    calls: [],
    privateKey,
    sign: (claims, header = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'key-1', ...header }).sign(privateKey),
    serve(redirectUri) {
      real = new Provider(issuer, {
        clients: [
          {
            client_id: CLIENT_ID,
            client_secret: CLIENT_SECRET,
            redirect_uris: [redirectUri],
            grant_types: ['authorization_code', 'refresh_token'],
            response_types: ['code'],
          },
        ],
        jwks: { keys: [jwk] },
        cookies: { keys: ['key-of-the-cookies'] },
        scopes: ['openid', 'offline_access', 'groups'],
        claims: {
          openid: ['sub'],
          profile: ['name'],
          email: ['email', 'email_verified'],
          groups: ['groups', 'roles', 'hasgroups', '_claim_names'],
        },
        conformIdTokenClaims: options.conformIdTokenClaims ?? true,
        features: { devInteractions: { enabled: false } },
        interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
        pkce: { required: () => true },
        issueRefreshToken: async () => provider.hasRefreshTokens,
        findAccount: async (_: unknown, sub: string) => {
          const account = provider.accounts.get(sub)
          return account && { accountId: sub, claims: async () => account }
        },
        async loadExistingGrant({ oidc }: Context) {
          const grant = new oidc.provider.Grant({
            clientId: oidc.client.clientId,
            accountId: oidc.session.accountId,
          })
          grant.addOIDCScope('openid profile email groups offline_access')
          await grant.save()
          return grant
        },
      })
    },
    async [Symbol.asyncDispose]() {
      for (const server of [front, inner]) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    },
  }
  return provider
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}
