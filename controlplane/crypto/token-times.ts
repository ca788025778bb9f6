import * as z from 'zod'

/** Issue time and expiry of a token, in Unix time; null when the token does not state the time. */
export type TokenTimes = { readonly issuedAtS: number | null; readonly expiresAtMs: number | null }

const Claims = z.object({ iat: z.number().optional(), exp: z.number().optional() })

/**
 * Reads `iat` and `exp` of a JWT without verifying the signature. The caller must not trust the times before
 * a TokenReview of the token.
 */
export function tokenTimes(token: string): TokenTimes {
  const claims = Claims.safeParse(json(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')))
  const { iat, exp } = claims.success ? claims.data : {}
  return { issuedAtS: iat ?? null, expiresAtMs: exp === undefined ? null : exp * 1_000 }
}

function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // A token that is not a JWT has no times.
    return null
  }
}
