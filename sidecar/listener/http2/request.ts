import type { RawHeaders } from '../../../core/request/canonical.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { type FramingFields, noFields, noteField, type Problem } from '../http1/framing.ts'

export type Http2Head = {
  readonly method: string
  readonly target: string
  readonly authority: string | null
  /**
   * Header fields without pseudo-header fields, in order. Cookie crumbs are joined into one field (RFC 9113, section
   * 8.2.3).
   */
  readonly rawHeaders: RawHeaders
  readonly expectsContinue: boolean
  readonly acceptsTrailers: boolean
  readonly problem: Problem | null
}

/** Bytes that each field adds to the header list size (RFC 9113, section 6.5.2). */
const FIELD_OVERHEAD = 32

type Seen = {
  readonly pseudo: Record<string, string>
  readonly rawHeaders: string[]
  readonly fields: FramingFields
  bytes: number
  cookieAt: number
  acceptsTrailers: boolean
}

/**
 * Parses the header list of one stream. nghttp2 has validated the pseudo-header fields and dropped field lines with a
 * forbidden name or value. `sentFields` is the number of field lines that the client sent; null when unknown.
 */
export function readHttp2Head(
  raw: readonly string[],
  scheme: 'http' | 'https',
  sentFields: number | null,
): Http2Head {
  const seen: Seen = {
    pseudo: {},
    rawHeaders: [],
    fields: noFields(),
    bytes: 0,
    cookieAt: -1,
    acceptsTrailers: false,
  }
  for (let i = 0; i + 1 < raw.length; i += 2) noteHttp2Field(seen, raw[i] ?? '', raw[i + 1] ?? '')
  const { pseudo, fields } = seen
  const method = pseudo[':method'] ?? ''
  const target = pseudo[':path'] ?? ''
  const detail =
    droppedProblem(raw.length / 2, sentFields) ??
    fields.problem ??
    pseudoProblem(method, target, pseudo[':scheme'], scheme) ??
    hostsProblem(fields)
  return {
    method,
    target,
    authority: pseudo[':authority'] ?? null,
    rawHeaders: seen.rawHeaders,
    expectsContinue: fields.expect?.toLowerCase() === '100-continue',
    acceptsTrailers: seen.acceptsTrailers,
    problem: sizeProblem(seen.bytes) ?? (detail === null ? null : { code: 'malformed_request', detail }),
  }
}

function noteHttp2Field(seen: Seen, name: string, value: string): void {
  seen.bytes += name.length + value.length + FIELD_OVERHEAD
  if (name.startsWith(':')) {
    seen.pseudo[name] = value
    return
  }
  noteField(seen.fields, name, value)
  if (name === 'te') seen.acceptsTrailers = value.toLowerCase() === 'trailers'
  if (name === 'cookie') seen.cookieAt = addCookie(seen.rawHeaders, seen.cookieAt, value)
  else seen.rawHeaders.push(name, value)
}

/** Appends a cookie crumb to the single Cookie field. Returns the index of its value. */
function addCookie(rawHeaders: string[], at: number, value: string): number {
  if (at === -1) return rawHeaders.push('cookie', value) - 1
  rawHeaders[at] = `${rawHeaders[at]}; ${value}`
  return at
}

/**
 * Returns the problem when nghttp2 dropped a field with a forbidden name or value (RFC 9113, section 8.2.1); null
 * otherwise.
 */
function droppedProblem(fields: number, sentFields: number | null): string | null {
  if (fields === sentFields) return null
  return 'the request has a header field that HTTP/2 forbids: its name is empty or not in lower case, it has a control character, or its value begins or ends with a blank'
}

function pseudoProblem(
  method: string,
  target: string,
  given: string | undefined,
  scheme: string,
): string | null {
  if (method === 'CONNECT')
    return 'CONNECT and WebSocket over HTTP/2 are not supported; use HTTP/1.1 for both'
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}$/.test(method))
    return 'the method contains a character that is not allowed'
  if (!/^(?:\/[\x21-\x7e]*|\*)$/.test(target)) return 'the path must start with "/" and be percent-encoded'
  return given === scheme ? null : `the :scheme must be ${scheme} on this connection`
}

function hostsProblem(fields: FramingFields): string | null {
  if (fields.hosts > 1) return 'the request has more than one Host header'
  return fields.proxyAuthorizations > 1 ? 'the request has more than one Proxy-Authorization header' : null
}

function sizeProblem(bytes: number): Problem | null {
  if (bytes <= LIMITS.headerBlockBytes) return null
  const detail = `the headers are larger than ${LIMITS.headerBlockBytes} bytes; send fewer or shorter headers`
  return { code: 'headers_too_large', detail }
}
