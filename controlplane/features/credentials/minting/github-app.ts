import { createPrivateKey, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import * as z from 'zod'
import type { GithubAppSpec } from '../../../../core/crd/credentials/github-app-spec.ts'
import type { CheckedFetch } from '../../oidc/checked-fetch.ts'
import { type Mint, MintError, type MintRequest } from './mint.ts'
import { plainText, usableToken } from './usable-token.ts'

const TIMEOUT_MS = 5_000
/**
 * Lifetime of an app token in seconds. The API refuses app tokens that are valid for more than 10 minutes, and app
 * tokens that were issued in the future by its clock.
 */
const APP_TOKEN_S = 540
const CLOCK_SKEW_S = 60
/** Minimum size of the modulus for RS256, in bits (RFC 7518, section 3.3). */
const MIN_KEY_BITS = 2_048

const Issued = z.object({ token: z.string(), expires_at: z.iso.datetime({ offset: true }) })
const Refused = z.object({ message: z.string() })

/**
 * Creates the source `githubApp`: installation access tokens, narrowed to the repositories and permissions of the spec.
 *
 * @param fetchOf Returns a `fetch` that checks addresses. The address rules depend on the origin of the Connector: the
 * cluster or a file.
 */
export function createGithubAppMint(
  fetchOf: (source: MintRequest['source']) => CheckedFetch,
  nowMs: () => number,
): Mint {
  return async ({ credential: { githubApp }, secret, source }) => {
    if (githubApp === undefined)
      throw new MintError(
        'The Connector has no field credential.githubApp, so no token was requested. Add the field to its manifest.',
      )
    const call = await createAppCall({ githubApp, secret, send: fetchOf(source), nowMs })
    const { secret: token, lifetimeMs } = await issueToken(call, limitOf(githubApp), nowMs)
    return { secret: token, lifetimeMs, rotated: null }
  }
}

/**
 * Restriction of an installation token. An absent field means all repositories, or all permissions, of the
 * installation.
 */
export type TokenLimit = {
  readonly repositories?: readonly string[]
  readonly permissions?: Readonly<Record<string, string>>
}

/** Returns the restriction that the spec of the Connector states. */
export function limitOf({ repositories, permissions }: GithubAppSpec): TokenLimit {
  return {
    ...(repositories.length === 0 ? {} : { repositories }),
    ...(permissions.length === 0 ? {} : { permissions: Object.fromEntries(permissions.map(pairOf)) }),
  }
}

export type Answer = { readonly status: number; readonly body: unknown }

/**
 * Calls endpoints of the installation, authenticated as the app. `send` rejects with a `MintError` when the API is
 * unreachable.
 */
export type AppCall = {
  readonly host: string
  send(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer>
  /**
   * Returns the error for a response of the API. `missing`: clause about what the response lacks, such as `issued no
   * installation token`.
   */
  refusal(answer: Answer, missing: string): MintError
}

type Calling = {
  readonly githubApp: GithubAppSpec
  /** Stored private key. */
  readonly secret: string
  readonly send: CheckedFetch
  readonly nowMs: () => number
}

/**
 * Signs an app token, and creates the calls that are authenticated with this token. Rejects with a `MintError` for an
 * unusable key.
 */
export async function createAppCall({ githubApp, secret, send, nowMs }: Calling): Promise<AppCall> {
  const appToken = await signAppToken(githubApp, privateKeyIn(secret), Math.floor(nowMs() / 1_000))
  const { host } = new URL(githubApp.apiUrl)
  return {
    host,
    async send(method, path, body) {
      const { status, text } = await request(send, githubApp, { appToken, method, path, body })
      return { status, body: parse(text) }
    },
    refusal({ status, body }, missing) {
      const message = Refused.safeParse(body).data?.message.replaceAll(appToken, '…')
      const why = message === undefined ? '' : `: ${plainText(message)}`
      return new MintError(`${host} ${missing} (status ${status}${why}). ${remedyOf(status)}`)
    },
  }
}

/** A token, and the milliseconds until it expires. */
export type IssuedToken = { readonly secret: string; readonly lifetimeMs: number }

/** Requests an installation token. Rejects with a `MintError`, also when the API refuses the request. */
async function issueToken(call: AppCall, limit: TokenLimit, nowMs: () => number): Promise<IssuedToken> {
  const issued = readIssued(await call.send('POST', '/access_tokens', limit), nowMs)
  if ('secret' in issued) return issued
  throw call.refusal(issued, 'issued no installation token')
}

/**
 * Returns the token in the response, or the response itself if it contains no token. Throws a `MintError` for a token
 * that cannot be sent in a header.
 */
export function readIssued(answer: Answer, nowMs: () => number): IssuedToken | Answer {
  const issued = Issued.safeParse(answer.body)
  if (answer.status !== 201 || !issued.success) return answer
  const { token, expires_at: expiresAt } = issued.data
  return { secret: usableToken(token), lifetimeMs: Date.parse(expiresAt) - nowMs() }
}

function remedyOf(status: number): string {
  if (status === 401) return 'Check the app id, and that the private key belongs to the app.'
  if (status === 404) return 'Check the installation id.'
  if (status === 422)
    return 'The installation lacks a repository or a permission that the Connector names. Add it to the installation of the app, or remove it from the Connector.'
  return 'Minting is tried again.'
}

/**
 * Parses the private key in the stored secret: PEM, or PEM in base64, because the encrypted store takes a single line.
 * Throws a `MintError`.
 */
function privateKeyIn(secret: string): KeyObject {
  const text = secret.trim()
  const key = keyIn(text.startsWith('-----BEGIN') ? text : Buffer.from(text, 'base64').toString())
  if (key?.asymmetricKeyType !== 'rsa')
    throw new MintError(
      'The stored secret is not an RSA private key. Store the key file of the app: unchanged in a Secret, or as base64 (base64 -w0 key.pem) with chaperone credential set.',
    )
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  if (bits >= MIN_KEY_BITS) return key
  throw new MintError(
    `The stored RSA private key has ${bits} bits, and at least ${MIN_KEY_BITS} are required. Generate a new private key of the app, and store it.`,
  )
}

function keyIn(pem: string): KeyObject | null {
  try {
    return createPrivateKey(pem)
  } catch {
    // Discards the error of the parser, because its message may contain a part of the key.
    return null
  }
}

function signAppToken({ appId }: GithubAppSpec, key: KeyObject, nowS: number): Promise<string> {
  return new SignJWT({})
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
    .setIssuer(appId)
    .setIssuedAt(nowS - CLOCK_SKEW_S)
    .setExpirationTime(nowS + APP_TOKEN_S)
    .sign(key)
}

type Request = {
  readonly appToken: string
  readonly method: 'GET' | 'POST'
  /** Path below `/app/installations/<id>`; empty for the installation itself. */
  readonly path: string
  readonly body: object | undefined
}

async function request(
  send: CheckedFetch,
  { apiUrl, installationId }: GithubAppSpec,
  { appToken, method, path, body }: Request,
): Promise<{ readonly status: number; readonly text: string }> {
  const url = `${apiUrl.replace(/\/+$/, '')}/app/installations/${installationId}${path}`
  try {
    const answer = await send(url, {
      method,
      headers: {
        accept: 'application/vnd.github+json',
        authorization: `Bearer ${appToken}`,
        'content-type': 'application/json',
        'user-agent': 'chaperone',
        'x-github-api-version': '2022-11-28',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return { status: answer.status, text: await answer.text() }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : 'unknown error'
    throw new MintError(
      `No token was issued, because ${new URL(apiUrl).host} was not reached:  ${plainText(why.replaceAll(appToken, '…'))}`.replace(
        /\.?$/,
        '.',
      ),
      { cause },
    )
  }
}

function pairOf(permission: string): [string, string] {
  const [name = '', access = ''] = permission.split(':')
  return [name, access]
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
