import type { RawHeaders } from '../../core/request/canonical.ts'
import { connectionTokens, HOP_BY_HOP } from '../http/hop-by-hop.ts'

/**
 * Request headers that are not forwarded. The gateway sets Host from the target, answers Expect itself, and does not
 * offer h2c.
 */
const REQUEST_ONLY: ReadonlySet<string> = new Set(['host', 'expect', 'http2-settings'])

/**
 * Returns the end-to-end headers of the request in their order and case, with Host first. `length` in bytes replaces
 * the declared Content-Length of a body that was buffered and may have been changed. With `undefined` the declared
 * header is kept.
 */
export function outboundHeaders(raw: RawHeaders, host: string, length: number | undefined): string[] {
  const named = connectionTokens(raw)
  const out = ['host', host]
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? ''
    const lower = name.toLowerCase()
    if (HOP_BY_HOP.has(lower) || REQUEST_ONLY.has(lower) || named?.has(lower) === true) continue
    if (lower === 'content-length' && length !== undefined) continue
    out.push(name, raw[at + 1] ?? '')
  }
  return out
}
