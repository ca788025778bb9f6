import type * as Client from 'openid-client'
import * as z from 'zod'
import type { OAuth2Spec } from '../../../../core/crd/credentials/oauth2-spec.ts'
import type { CheckedFetch } from '../../oidc/checked-fetch.ts'
import { type ExpiringSecret, type Mint, MintError, type MintRequest } from './mint.ts'
import { readSourceSecrets, type SourceSecrets } from './source-secret.ts'
import { plainText, usableToken } from './usable-token.ts'

const TIMEOUT_S = 5
/**
 * Assumed lifetime in seconds of an access token without `expires_in`. RFC 6749, section 5.1, leaves this lifetime to
 * the documentation of the server.
 */
const DEFAULT_LIFETIME_S = 300
/** Maximum lifetime in seconds, so that the expiry stays within the range of database timestamps. */
const MAX_LIFETIME_S = 10 * 365 * 86_400
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

type Grant = OAuth2Spec['grant']

/**
 * Kind of the stored secret, by OAuth 2 grant type, when the stored value is the secret itself and not a JSON
 * object of several secrets.
 */
const ONLY = {
  client_credentials: 'client_secret',
  refresh_token: 'refresh_token',
  token_exchange: 'subject_token',
} as const satisfies Record<Grant, keyof SourceSecrets>

/**
 * Creates the source `oauth2`: access tokens of a token endpoint.
 *
 * @param fetchOf Returns a `fetch` that checks addresses. The address rules depend on the origin of the Connector: the
 * cluster or a file.
 */
export function createOAuth2Mint(
  fetchOf: (source: MintRequest['source']) => CheckedFetch,
): Mint<ExpiringSecret> {
  return async (request) => {
    const { oauth2 } = request.credential
    if (oauth2 === undefined)
      throw new MintError(
        'The Connector has no field credential.oauth2, so no token was requested. Add the field to its manifest.',
      )
    const secrets = readSourceSecrets(request.secret, ONLY[oauth2.grant])
    const client = await import('openid-client')
    const config = configurationOf(client, oauth2, secrets)
    config[client.customFetch] = fetchOf(request.source)
    try {
      const answer = await exchange(client, config, { oauth2, secrets, rotated: request.rotated })
      return mintedOf(answer, oauth2.grant, request.rotated)
    } catch (error) {
      if (error instanceof MintError) throw error
      const rotated = oauth2.grant === 'refresh_token' ? refreshTokenIn(error) : null
      throw failure(error, {
        oauth2,
        rotated,
        secrets: formsOf(oauth2, [...Object.values(secrets), request.rotated, rotated]),
      })
    }
  }
}

function mintedOf(answer: Client.TokenEndpointResponse, grant: Grant, former: string | null): ExpiringSecret {
  const rotated = grant === 'refresh_token' ? (answer.refresh_token ?? former) : null
  if (answer.token_type.toLowerCase() !== 'bearer')
    throw new MintError(
      `The token endpoint issued a token of type ${plainText(answer.token_type)}, which cannot be sent; only Bearer is supported. Have the endpoint issue Bearer tokens.`,
      { rotated },
    )
  const lifetimeS = Math.min(answer.expires_in ?? DEFAULT_LIFETIME_S, MAX_LIFETIME_S)
  return { secret: usableToken(answer.access_token, rotated), lifetimeMs: lifetimeS * 1_000, rotated }
}

const Refused = z.object({ body: z.object({ refresh_token: z.string().min(1) }) })
/**
 * Maximum number of nested causes in an error of the client library that are searched for the response of the server.
 */
const MAX_CAUSES = 5

/** Returns the refresh token of a response that the client library refused; null when the response contains none. */
function refreshTokenIn(error: unknown): string | null {
  let cause = error
  for (let depth = 0; depth < MAX_CAUSES && typeof cause === 'object' && cause !== null; depth++) {
    const found = Refused.safeParse(cause)
    if (found.success) return found.data.body.refresh_token
    cause = 'cause' in cause ? cause.cause : null
  }
  return null
}

function configurationOf(
  client: typeof Client,
  { tokenUrl, clientId, clientAuthentication }: OAuth2Spec,
  { client_secret: secret }: SourceSecrets,
): Client.Configuration {
  const { origin, protocol } = new URL(tokenUrl)
  const config = new client.Configuration(
    { issuer: origin, token_endpoint: tokenUrl },
    clientId,
    {},
    authenticationOf(client, clientAuthentication, secret),
  )
  config.timeout = TIMEOUT_S
  // The checked fetch allows plain HTTP only to a loopback address, and only for a Connector of the manifests folder
  // on this machine.
  if (protocol === 'http:') client.allowInsecureRequests(config)
  return config
}

function authenticationOf(
  client: typeof Client,
  method: OAuth2Spec['clientAuthentication'],
  secret: string | undefined,
): Client.ClientAuth {
  if (method === 'none' || secret === undefined) return client.None()
  return method === 'post' ? client.ClientSecretPost(secret) : client.ClientSecretBasic(secret)
}

type Exchange = {
  readonly oauth2: OAuth2Spec
  readonly secrets: SourceSecrets
  readonly rotated: string | null
}

function exchange(
  client: typeof Client,
  config: Client.Configuration,
  { oauth2, secrets, rotated }: Exchange,
): Promise<Client.TokenEndpointResponse> {
  const { grant, scopes, audience, subjectTokenType } = oauth2
  const parameters = {
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    ...(audience === undefined ? {} : { audience }),
  }
  switch (grant) {
    case 'client_credentials':
      required(secrets.client_secret, 'client_secret')
      return client.clientCredentialsGrant(config, parameters)
    case 'refresh_token':
      return client.refreshTokenGrant(
        config,
        rotated ?? required(secrets.refresh_token, 'refresh_token'),
        parameters,
      )
    case 'token_exchange':
      return client.genericGrantRequest(config, TOKEN_EXCHANGE, {
        ...parameters,
        subject_token: required(secrets.subject_token, 'subject_token'),
        subject_token_type: subjectTokenType,
      })
  }
}

function required(secret: string | undefined, name: keyof SourceSecrets): string {
  if (secret !== undefined) return secret
  throw new MintError(
    `The stored secret has no member ${name}, which the grant type of the Connector needs. Add it to the stored JSON object.`,
  )
}

type Failed = {
  readonly oauth2: OAuth2Spec
  readonly secrets: readonly string[]
  readonly rotated: string | null
}

/**
 * Returns the error of a failed token request. The message contains the error code of the server (RFC 6749, section
 * 5.2), its status, or the reason why the server was not reached. The message contains no part of the request.
 */
function failure(error: unknown, { oauth2, secrets, rotated }: Failed): MintError {
  const { host } = new URL(oauth2.tokenUrl)
  const {
    error: code,
    error_description: description,
    status,
    cause,
  } = error as {
    readonly error?: unknown
    readonly error_description?: unknown
    readonly status?: unknown
    readonly cause?: unknown
  }
  if (typeof code === 'string') {
    const text = typeof description === 'string' ? ` (${masked(description, secrets)})` : ''
    return new MintError(
      `The token endpoint ${host} refused to issue a token: ${masked(code, secrets)}${text}.`,
      { cause: error, rotated },
    )
  }
  const answered = cause instanceof Response ? cause.status : status
  if (typeof answered === 'number')
    return new MintError(`The token endpoint ${host} answered with status ${answered} and no token.`, {
      cause: error,
      rotated,
    })
  const why =
    cause instanceof Error ? cause.message : error instanceof Error ? error.message : 'unknown error'
  return new MintError(
    `The token endpoint ${host} was not reached: ${masked(why, secrets)}`.replace(/\.?$/, '.'),
    {
      cause: error,
      rotated,
    },
  )
}

/**
 * Replaces the secrets in the text, and returns the text as one short line. The replacement is necessary because a
 * server may repeat the request in its error.
 */
function masked(text: string, secrets: readonly string[]): string {
  return plainText(secrets.reduce((left, secret) => left.replaceAll(secret, '…'), text))
}

/**
 * Returns the encoded forms in which the request may contain the secrets: plain, percent-encoded, form-encoded, and
 * base64 of Basic authentication.
 */
function formsOf(
  { clientId }: OAuth2Spec,
  secrets: ReadonlyArray<string | null | undefined>,
): readonly string[] {
  return secrets
    .filter((secret) => typeof secret === 'string')
    .filter((secret) => secret !== '')
    .flatMap((secret) => {
      const basic = [`${clientId}:${secret}`, `${formEncoded(clientId)}:${formEncoded(secret)}`]
      return [
        ...basic.map((pair) => Buffer.from(pair).toString('base64')),
        formEncoded(secret),
        encodeURIComponent(secret),
        secret,
      ]
    })
}

/** Returns the text as the client library encodes it for Basic authentication (RFC 6749, section 2.3.1). */
function formEncoded(text: string): string {
  return encodeURIComponent(text)
    .replace(/[-_.!~*'()]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+')
}
