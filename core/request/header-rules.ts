import { LIMITS } from '../wire/limits.ts'
import { type RawRequest, type Refusal, refusal } from './canonical.ts'

/** Values of the fields that framing, host identity and the body's reading depend on, by lower-case name. */
export type HeaderFacts = ReadonlyMap<string, readonly string[]>

const READ = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'content-type',
  'content-encoding',
  'upgrade',
  'te',
])

/** At most one of each: two readers could each take another. */
const SINGLE = ['host', 'content-length', 'transfer-encoding', 'content-type', 'content-encoding', 'upgrade']

/** Fields with which some servers replace the method or the path that we classified. */
const OVERRIDES = new Set([
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-http-override',
  'x-original-method',
  'x-original-url',
  'x-original-uri',
  'x-rewrite-url',
])

/** What `Connection` may name. Anything else would be an end-to-end field that a hop is told to drop. */
const NOMINABLE = new Set([
  'close',
  'keep-alive',
  'upgrade',
  'te',
  'http2-settings',
  'proxy-connection',
  'trailer',
])

/** A header whose name with `_` for `-` becomes one of these is read as it by CGI-like servers. */
const SHADOWED = new Set([
  ...READ,
  ...OVERRIDES,
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'api-key',
  'x-auth-token',
  'private-token',
  'expect',
  'trailer',
  'keep-alive',
  'proxy-connection',
  'x-forwarded-host',
])

const H2_FORBIDDEN = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
// Everything below space but tab, and DEL: what no field value may hold.
const BAD_VALUE = /[\u0000-\u0008\u000a-\u001f\u007f]/

const NOT_ASCII = /[^\t\u0020-\u007e]/

/** Judges every header field once and keeps those that other rules need. */
export function readHeaders(raw: RawRequest): HeaderFacts | Refusal {
  if (blockBytes(raw) > LIMITS.headerBlockBytes) return tooLarge()
  const facts = new Map<string, string[]>()
  for (let i = 0; i < raw.rawHeaders.length; i += 2) {
    const name = raw.rawHeaders[i] ?? ''
    const value = raw.rawHeaders[i + 1] ?? ''
    const lower = name.toLowerCase()
    const wrong = judgeField(name, lower, value, raw.httpVersion)
    if (wrong !== null) return wrong
    if (READ.has(lower)) keep(facts, lower, value.trim())
  }
  return judgeRepeats(facts) ?? judgeNominations(facts) ?? facts
}

/** As on an HTTP/1.1 wire: request line, and four bytes for the colon, space and line end of each field. */
function blockBytes(raw: RawRequest): number {
  let bytes = raw.method.length + raw.target.length + 12
  for (const text of raw.rawHeaders) bytes += text.length + 2
  return bytes
}

function keep(facts: Map<string, string[]>, name: string, value: string): void {
  const seen = facts.get(name)
  if (seen === undefined) facts.set(name, [value])
  else seen.push(value)
}

function judgeField(
  name: string,
  lower: string,
  value: string,
  version: RawRequest['httpVersion'],
): Refusal | null {
  if (!TOKEN.test(name))
    return refusal('malformed_request', 'a header name holds a character that is not allowed there')
  if (BAD_VALUE.test(value))
    return refusal('malformed_request', `the header ${name} holds a control character`)
  // JavaScript trims no-break spaces, servers do not: where we interpret a value it is ASCII.
  if (READ.has(lower) && NOT_ASCII.test(value)) {
    return refusal('malformed_request', `the header ${name} holds a character that is not ASCII`)
  }
  if (OVERRIDES.has(lower)) {
    return refusal(
      'ambiguous_request',
      `the header ${name} would replace the request's own method or path; remove it`,
    )
  }
  if (lower.includes('_') && SHADOWED.has(lower.replaceAll('_', '-'))) {
    return refusal(
      'ambiguous_request',
      `the header ${name} is read as ${lower.replaceAll('_', '-')} by some servers; remove it`,
    )
  }
  return version === '2' ? judgeH2Field(lower, value) : null
}

function judgeH2Field(lower: string, value: string): Refusal | null {
  const isForbidden = H2_FORBIDDEN.has(lower) || (lower === 'te' && value.trim() !== 'trailers')
  return isForbidden
    ? refusal('malformed_request', `the header ${lower} has no meaning in HTTP/2; remove it`)
    : null
}

function judgeRepeats(facts: HeaderFacts): Refusal | null {
  for (const name of SINGLE) {
    if ((facts.get(name)?.length ?? 0) > 1) {
      return refusal('ambiguous_request', `the header ${name} appears more than once; send it once`)
    }
  }
  return null
}

function judgeNominations(facts: HeaderFacts): Refusal | null {
  for (const option of listItems(facts.get('connection'))) {
    if (!NOMINABLE.has(option)) {
      return refusal(
        'ambiguous_request',
        `Connection names "${option}", which is not a hop-by-hop field; remove it`,
      )
    }
  }
  return null
}

/** Comma-separated items of all values, lower case, without empty ones. */
export function listItems(values: readonly string[] | undefined): string[] {
  if (values === undefined) return []
  const items = values.join(',').toLowerCase().split(',')
  return items.map((item) => item.trim()).filter((item) => item !== '')
}

function tooLarge(): Refusal {
  return refusal(
    'headers_too_large',
    `request line and headers together may hold ${LIMITS.headerBlockBytes} bytes`,
  )
}
