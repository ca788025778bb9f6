import type { RawHeaders } from '../../core/request/canonical.ts'

/** Fields that belong to one connection (RFC 9110 7.6.1) and so end at the gateway. */
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

/** Request headers that the gateway sets itself: Host from the target; Expect was answered; h2c is not offered. */
const REQUEST_ONLY: ReadonlySet<string> = new Set(['host', 'expect', 'http2-settings'])

/**
 * The request's end-to-end fields in their order and case, with the Host header first. `length` replaces a declared
 * Content-Length (the body was read, and may have been changed); `undefined` keeps what the agent declared.
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

/** The fields of an answer 101: its end-to-end fields, and those that make the switch. */
export function switchingHeaders(raw: RawHeaders): string[] {
  return ['Upgrade', 'websocket', 'Connection', 'Upgrade', ...inboundHeaders(raw)]
}

/** Most names are told by their length alone. */
function endsHere(name: string): boolean {
  return (ANSWER_LENGTHS.has(name.length) && ANSWER_ONLY.has(name.toLowerCase())) || OURS.test(name)
}

/** Fields of the gateway's own answers: agents and tests read there who has refused a request. */
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
