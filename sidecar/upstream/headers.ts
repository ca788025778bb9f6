import type { RawHeaders } from '../../core/request/canonical.ts'

/** Hop-by-hop fields (RFC 9110, section 7.6.1). The gateway does not forward them. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
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

/**
 * Response headers that are not forwarded. Alt-Svc would lead the agent to another host or to QUIC, which are not
 * governed.
 */
const ANSWER_ONLY: ReadonlySet<string> = new Set([...HOP_BY_HOP, 'alt-svc'])
const ANSWER_LENGTHS: ReadonlySet<number> = new Set([...ANSWER_ONLY].map((name) => name.length))

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

/** Returns the end-to-end headers of the response, without framing headers. */
export function inboundHeaders(raw: RawHeaders): string[] {
  const named = connectionTokens(raw)
  const out: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? ''
    if (endsHere(name) || named?.has(name.toLowerCase()) === true) continue
    out.push(name, raw[at + 1] ?? '')
  }
  return out
}

/** Returns the headers of a 101 response: Upgrade and Connection, and the end-to-end headers of the upstream. */
export function switchingHeaders(raw: RawHeaders): string[] {
  return ['Upgrade', 'websocket', 'Connection', 'Upgrade', ...inboundHeaders(raw)]
}

/**
 * Returns true when the gateway does not forward the header. A comparison of lengths excludes most names without a
 * comparison of text.
 */
function endsHere(name: string): boolean {
  return (ANSWER_LENGTHS.has(name.length) && ANSWER_ONLY.has(name.toLowerCase())) || OURS.test(name)
}

/**
 * Matches headers of the gateway's own responses. Agents and tests read from these headers which component refused a
 * request, so an upstream must not set them.
 */
const OURS = /^x[-_]service[-_]/i

function connectionTokens(raw: RawHeaders): Set<string> | null {
  let tokens: Set<string> | null = null
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? ''
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue
    tokens ??= new Set()
    for (const token of (raw[at + 1] ?? '').split(',')) tokens.add(token.trim().toLowerCase())
  }
  return tokens
}
