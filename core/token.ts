import * as z from 'zod'

/**
 * Lifetime of a token in seconds, from `iat` to `exp`. Used nonces are kept for a day, and the lifetime must be far
 * shorter.
 */
export const TOKEN_LIFE_S = 300
export const TOKEN_ISSUER = 'chaperone'
export const TOKEN_AUDIENCE = 'chaperone-gateway'
/** Maximum length of a token. Valid tokens have about 650 characters. */
const MAX_LENGTH = 4_096

/**
 * Claims of a decision token (spec 2.4). `ash` is the hex SHA-256 of the RFC 8785 JSON of the action spec. Times are
 * Unix times in seconds.
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

/** Reasons why a token is invalid, as `tokens/verify` returns them. */
export const TOKEN_ERRORS = {
  malformed: 'Malformed token',
  signature: 'Invalid signature',
  mismatch: 'Action mismatch',
  expired: 'Token expired',
  used: 'Nonce already used',
} as const
export type TokenProblem = keyof typeof TOKEN_ERRORS

/** Parsed token. Its signature has not been verified, so `kid` and all claims are untrusted. */
export type ReadToken = {
  readonly kid: string
  readonly claims: TokenClaims
  /** Text that is signed: header and claims as sent. */
  readonly signed: string
  /** Signature as base64url. */
  readonly signature: string
}

/** Returns the header of every valid token with this key id. */
export function tokenHeader(kid: string): Readonly<Record<string, string>> {
  return { alg: 'EdDSA', kid, typ: 'JWT' }
}

const SHAPE = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/
/** Length in base64url of a signature of 64 bytes. */
const SIGNATURE_LENGTH = 86
const Header = z.strictObject({ alg: z.literal('EdDSA'), kid: z.string(), typ: z.literal('JWT') })

/**
 * Parses a token without verifying it. Returns `malformed` if the text is not a JWT or exceeds `MAX_LENGTH`, and
 * `signature` if the control plane cannot have signed the JWT, because its header, its claims or the length of its
 * signature differ from those of valid tokens.
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

/** Returns the reason why the claims of a verified token do not match this action; null if they match. */
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
 * Returns the JSON object in a part of a token; null if there is none. Checks the first and last character before
 * parsing, because an exception of the parser costs ten times as much as all other checks.
 */
function objectIn(segment: string): object | null {
  // A segment with only characters of this alphabet is valid base64, unless its length is one more than a multiple of
  // four.
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
