import type { RawHeaders } from '../../core/request/canonical.ts'

/** Hop-by-hop fields (RFC 9110, section 7.6.1). The gateway forwards them in neither direction. */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Returns the names, in lower case, that the Connection header lists; null without a Connection header. */
export function connectionTokens(raw: RawHeaders): ReadonlySet<string> | null {
  let tokens: Set<string> | null = null
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? ''
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue
    tokens ??= new Set()
    for (const token of (raw[at + 1] ?? '').split(',')) tokens.add(token.trim().toLowerCase())
  }
  return tokens
}
