import type * as Client from 'openid-client'
import type { EgressProxy } from '../../egress-proxy.ts'
import { resolveByDns } from '../gateways/dial.ts'
import { createCheckedFetch } from './checked-fetch.ts'
import type { OidcSettings } from './settings.ts'
import { mergeClaims, namesGroups, type ProviderUser, readClaims } from './sign-in/claims.ts'
import { SignInError } from './sign-in/sign-in-error.ts'

/** Tokens of the provider for later requests about the user. */
export type ProviderTokens =
  | { readonly kind: 'refresh'; readonly token: string }
  | { readonly kind: 'access'; readonly token: string }

export type Confirmed = { readonly user: ProviderUser; readonly tokens: ProviderTokens | null }

/**
 * Values that bind the callback of the provider to one sign-in request (OAuth `state`, OpenID Connect `nonce`, PKCE
 * verifier).
 */
export type Binding = { readonly state: string; readonly nonce: string; readonly verifier: string }

export type Provider = {
  /** Returns the authorization address of the provider, at which the user signs in. */
  authorizationUrl(redirectUri: string, binding: Binding): Promise<string>
  /** Verifies the parameters of the callback address and redeems its code for tokens. Rejects with a SignInError. */
  redeem(callback: URL, binding: Binding): Promise<Confirmed>
  /**
   * Returns the current claims of the user at the provider. Rejects with a SignInError. Every code of this error ends
   * the user's sessions, except `unreachable`, which states nothing about the user.
   */
  confirm(tokens: ProviderTokens, subject: string): Promise<Confirmed>
}

/**
 * Allowed signature algorithms of ID tokens, all asymmetric. Anyone with the client's secret could forge a symmetric
 * signature, and an unsigned token proves nothing.
 */
const ALGORITHMS: ReadonlySet<string> = new Set([
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
])
const TIMEOUT_S = 5
/** Cache time of the discovery document and the keys, in milliseconds. */
const DISCOVERY_LIFE_MS = 60 * 60_000

type Connected = { readonly client: typeof Client; readonly config: Client.Configuration }

/** Creates the client of the identity provider. Reads the discovery document at the first sign-in. */
export function createProvider(
  settings: OidcSettings,
  clientSecret: string | null,
  nowMs: () => number,
  proxy: EgressProxy,
): Provider {
  let known: { readonly value: Promise<Connected>; readonly atMs: number } | null = null
  const connected = (): Promise<Connected> => {
    if (known !== null && nowMs() - known.atMs < DISCOVERY_LIFE_MS) return known.value
    const value = connect(settings, clientSecret, proxy)
    known = { value, atMs: nowMs() }
    value.catch(() => {
      known = null
    })
    return value
  }
  const userOf = (given: Connected, answer: Answer) => readUser(given, answer, settings.groupsClaim)
  return {
    authorizationUrl: (redirectUri, { state, nonce, verifier }) =>
      checked(async () => {
        const { client, config } = await connected()
        const url = client.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: scopesOf(settings, config),
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          state,
          nonce,
        })
        return url.href
      }),
    redeem: (callback, { state, nonce, verifier }) =>
      checked(async () => {
        const given = await connected()
        const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier }
        const answer = await given.client.authorizationCodeGrant(given.config, callback, checks)
        const user = await userOf(given, answer)
        return { user, tokens: tokensOf(answer) }
      }),
    confirm: (tokens, subject) =>
      ofUser(async () => {
        const given = await connected()
        const { client, config } = given
        if (tokens.kind === 'access') {
          const claims = await client.fetchUserInfo(config, tokens.token, subject)
          return { user: readClaims(claims, settings.groupsClaim), tokens }
        }
        const answer = await client.refreshTokenGrant(config, tokens.token)
        const user = await userOf(given, { ...answer, claims: () => answer.claims() ?? { sub: subject } })
        if (user.subject !== subject) throw new SignInError('invalid_answer')
        return { user, tokens: tokensOf(answer) ?? tokens }
      }),
  }
}

async function connect(
  settings: OidcSettings,
  clientSecret: string | null,
  proxy: EgressProxy,
): Promise<Connected> {
  const client = await import('openid-client')
  const isPlain = settings.issuer.startsWith('http:')
  const execute = isPlain ? [client.allowInsecureRequests] : []
  const checkedFetch = createCheckedFetch(resolveByDns, proxy)
  const options = { execute, timeout: TIMEOUT_S, [client.customFetch]: checkedFetch }
  const found = await client.discovery(
    new URL(settings.issuer),
    settings.clientId,
    undefined,
    undefined,
    options,
  )
  const { supportsPKCE: _helper, ...metadata } = found.serverMetadata()
  // OpenID Connect compares issuers character by character: `https://idp.example` and `https://idp.example/` are two
  // issuers.
  if (metadata.issuer !== settings.issuer)
    throw new SignInError('invalid_answer', `issuer is ${metadata.issuer}`)
  const algorithms = (metadata.id_token_signing_alg_values_supported ?? ['RS256']).filter((each) =>
    ALGORITHMS.has(each),
  )
  const config = new client.Configuration(
    { ...metadata, id_token_signing_alg_values_supported: algorithms },
    settings.clientId,
    clientSecret === null ? {} : { client_secret: clientSecret },
    authenticationOf(client, metadata, clientSecret),
  )
  config.timeout = TIMEOUT_S
  config[client.customFetch] = checkedFetch
  if (isPlain) client.allowInsecureRequests(config)
  // Verifies the signatures of ID tokens. Without this option, the library accepts ID tokens of the token endpoint on
  // the evidence of TLS alone.
  client.enableNonRepudiationChecks(config)
  return { client, config }
}

function authenticationOf(
  client: typeof Client,
  { token_endpoint_auth_methods_supported: methods }: Client.ServerMetadata,
  secret: string | null,
): Client.ClientAuth {
  if (secret === null) return client.None()
  const takesBasic = methods === undefined || methods.includes('client_secret_basic')
  return takesBasic ? client.ClientSecretBasic(secret) : client.ClientSecretPost(secret)
}

/** Returns the requested scopes. Adds `offline_access`, which yields refresh tokens, when the provider supports it. */
function scopesOf({ scopes }: OidcSettings, config: Client.Configuration): string {
  const offered = config.serverMetadata().scopes_supported?.includes('offline_access') === true
  return [...new Set([...scopes, ...(offered ? ['offline_access'] : [])])].join(' ')
}

type Answer = {
  readonly access_token: string
  readonly claims: () => Readonly<Record<string, unknown>> | undefined
}

/** Reads the user's claims from the ID token, and missing claims from UserInfo. */
async function readUser(
  { client, config }: Connected,
  { access_token: accessToken, claims }: Answer,
  groupsClaim: string,
): Promise<ProviderUser> {
  const own = claims() ?? {}
  const isWhole = namesGroups(own, groupsClaim) && own['email'] !== undefined
  const hasEndpoint = config.serverMetadata().userinfo_endpoint !== undefined
  if (isWhole || !hasEndpoint) return readClaims(own, groupsClaim)
  const info = await client.fetchUserInfo(config, accessToken, String(own['sub']))
  return readClaims(mergeClaims(own, info), groupsClaim)
}

function tokensOf(answer: {
  readonly access_token: string
  readonly refresh_token?: string | undefined
}): ProviderTokens | null {
  if (answer.refresh_token !== undefined) return { kind: 'refresh', token: answer.refresh_token }
  return { kind: 'access', token: answer.access_token }
}

/** Converts every failure to a SignInError with the provider's error as its cause. */
async function checked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SignInError) throw error
    throw new SignInError(codeOf(error), error)
  }
}

/**
 * Runs `work` as `checked` does, for a request about a signed-in user. A refusal of the OAuth client (RFC 6749, section
 * 5.2) becomes the code `unreachable`, because the refusal states nothing about the user.
 */
async function ofUser<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await checked(work)
  } catch (error) {
    const { cause } = error as SignInError
    const { error: code } = (cause ?? {}) as { readonly error?: unknown }
    throw code === 'invalid_client' || code === 'unauthorized_client'
      ? new SignInError('unreachable', cause)
      : error
  }
}

function codeOf(error: unknown): 'unreachable' | 'refused' | 'invalid_answer' {
  const { name, code, cause } = error as { name?: string; code?: string; cause?: unknown }
  const status = cause instanceof Response ? cause.status : (error as { status?: number }).status
  if (status !== undefined && (status >= 500 || status === 429)) return 'unreachable'
  if (code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT') return 'unreachable'
  // `fetch` rejects with a TypeError when the server is unreachable.
  if (error instanceof TypeError && cause !== undefined) return 'unreachable'
  const refusals = ['AuthorizationResponseError', 'ResponseBodyError', 'WWWAuthenticateChallengeError']
  return name !== undefined && refusals.includes(name) ? 'refused' : 'invalid_answer'
}
