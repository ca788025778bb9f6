import * as z from 'zod'

/** Seconds from `iat` to `exp`. Used nonces are kept for a day, which is far longer than any token is valid. */
export const TOKEN_LIFE_S = 300
export const TOKEN_ISSUER = 'chaperone'
export const TOKEN_AUDIENCE = 'chaperone-gateway'
/** Maximum length of a token. Valid tokens have about 650 characters. */
const MAX_LENGTH = 4_096

/**
 * Claims of a decision token (spec 2.4). `ash`: hex SHA-256 of the RFC 8785 JSON of the action spec; times in epoch
 * seconds.
 */
export const TokenClaims = z.strictObject({
  iss: z.literal(TOKEN_ISSUER),
  aud: z.literal(TOKEN_AUDIENCE),
  /** Id of the agent. */
  sub: z.string(),
  org: z.string(),
  /** Id of the action request (`act_…`). */
  act: z.string(),
  ash: z.string().regex(/^[0-9a-f]{64}$/),
  jti: z.string().min(1),
  iat: z.int(),
  exp: z.int(),
})
export type TokenClaims = z.infer<typeof TokenClaims>

/** Reasons why a token is invalid, as `tokens/verify` returns them. A kill switch has a reason of its own. */
export const TOKEN_ERRORS = {
  malformed: 'Malformed token',
  signature: 'Invalid signature',
  mismatch: 'Action mismatch',
  expired: 'Token expired',
  used: 'Nonce already used',
} as const
export type TokenProblem = keyof typeof TOKEN_ERRORS

/** A parsed token whose signature is not verified, so that `kid` and all claims are unverified too. */
export type ReadToken = {
  readonly kid: string
  readonly claims: TokenClaims
  /** The signed text: header and claims as sent. */
  readonly signed: string
  /** Signature as base64url. */
  readonly signature: string
}

/** Returns the header that every valid token with this key id has. */
export function tokenHeader(kid: string): Readonly<Record<string, string>> {
  return { alg: 'EdDSA', kid, typ: 'JWT' }
}

const SHAPE = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/
/** Length of a signature of 64 bytes in base64url. */
const SIGNATURE_LENGTH = 86
const Header = z.strictObject({ alg: z.literal('EdDSA'), kid: z.string(), typ: z.literal('JWT') })

/**
 * Parses a token without cryptography. `malformed`: not a JWT. `signature`: a JWT that the control plane cannot have
 * signed: another algorithm, a header with its own key, foreign claims.
 */
export function readToken(text: string): ReadToken | TokenProblem {
  const [, head = '', body = '', signature = ''] = (text.length <= MAX_LENGTH && SHAPE.exec(text)) || []
  const header = objectIn(head)
  const payload = header && objectIn(body)
  if (header === null || payload === null) return 'malformed'
  const known = Header.safeParse(header)
  const claims = TokenClaims.safeParse(payload)
  if (!known.success || !claims.success || signature.length !== SIGNATURE_LENGTH) return 'signature'
  return { kid: known.data.kid, claims: claims.data, signed: `${head}.${body}`, signature }
}

/** Returns the reason why the claims of a verified token do not match this action; null if they do. */
export function claimProblem(
  claims: TokenClaims,
  wanted: { readonly org: string; readonly act: string; readonly sub?: string; readonly ash?: string },
): TokenProblem | null {
  if (claims.org !== wanted.org) return 'signature'
  if (claims.act !== wanted.act) return 'mismatch'
  if (wanted.sub !== undefined && claims.sub !== wanted.sub) return 'mismatch'
  return wanted.ash !== undefined && claims.ash !== wanted.ash ? 'mismatch' : null
}

/**
 * Returns the JSON object in a part of a token; null if there is none. Checks the first and last character first,
 * because a parser exception costs ten times as much as all other checks.
 */
function objectIn(segment: string): object | null {
  // Text of this alphabet is base64 unless its length is one more than a multiple of four.
  if (segment === '' || segment.length % 4 === 1) return null
  const text = atob(segment.replaceAll('-', '+').replaceAll('_', '/')).trim()
  if (!text.startsWith('{') || !text.endsWith('}')) return null
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
