import * as z from 'zod'

/** Epoch times of a token; null when not stated. */
export type TokenTimes = { readonly issuedAtS: number | null; readonly expiresAtMs: number | null }

const Claims = z.object({ iat: z.number().optional(), exp: z.number().optional() })

/** Reads `iat` and `exp` of a JWT without checking its signature: trust them only for a reviewed token. */
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
