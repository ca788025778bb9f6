import type { RawHeaders } from '../../../core/request/canonical.ts'

export type RequestLine = {
  readonly method: string
  readonly path: string
  /** End-to-end headers, including Host. */
  readonly headers: RawHeaders
  /** Value of the Upgrade header; null for a request without an upgrade. */
  readonly upgrade: string | null
}

/** Framing of the request body: no body, declared length, or chunked. */
export type RequestFraming =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }

/**
 * Text of the last request head that was written for one list of outbound headers. In the benchmark B1 the cached text
 * saves 4 us of the CPU time of a request.
 */
export class HeadText {
  #host = ''
  #path = ''
  #method = ''
  #length: number | null = null
  #text: string | null = null

  /**
   * Returns the cached text when the cached head has the same values; otherwise null. `length`: body length in bytes;
   * null without a body.
   */
  of({ host, path, method }: HeadKey, length: number | null): string | null {
    const isSame =
      this.#length === length && this.#path === path && this.#method === method && this.#host === host
    return isSame ? this.#text : null
  }

  keep({ host, path, method }: HeadKey, length: number | null, text: string): string {
    this.#host = host
    this.#path = path
    this.#method = method
    this.#length = length
    this.#text = text
    return text
  }
}

/** Values of a request head besides its outbound headers. `host`: value of the Host header. */
export type HeadKey = { readonly host: string; readonly path: string; readonly method: string }

/**
 * A request line with the cache of its serialized head. With `headText` null, the head is serialized for this request.
 */
export type WholeRequest = RequestLine & { readonly host: string; readonly headText: HeadText | null }

/** Returns the head of a request whose body is sent as a whole. `length`: body length in bytes; null without a body. */
export function headOf(request: WholeRequest, length: number | null): string {
  const { headText } = request
  const known = headText?.of(request, length) ?? null
  if (known !== null) return known
  const text = requestHead(request, length === null ? { kind: 'none' } : { kind: 'length', length })
  return headText === null ? text : headText.keep(request, length, text)
}

/**
 * Returns the head of a request with a streamed body. `length`: declared body length in bytes; null for a chunked body.
 */
export function streamHead(line: RequestLine): { readonly text: string; readonly length: number | null } {
  const declared = declaredLength(line.headers)
  const length = declared === null ? null : Number(declared)
  const framing: RequestFraming = length === null ? { kind: 'chunked' } : { kind: 'length', length }
  return { text: requestHead(line, framing), length }
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const TARGET = /^[\x21-\xff]+$/
/**
 * Matches characters that are forbidden in a header value. Node truncates characters beyond latin-1 to one byte, which
 * could be a line feed.
 */
const UNSAFE_VALUE = /[^\t\x20-\x7e\x80-\xff]/

/**
 * Returns the request head as latin-1 text. Throws for values that could be read as more than one line. The parser of
 * the request has already refused such values; this check covers an error of that parser.
 */
function requestHead(line: RequestLine, framing: RequestFraming): string {
  if (!TOKEN.test(line.method) || !TARGET.test(line.path))
    throw new Error('the request line is not safe to send')
  const fields = fieldLines(line.headers)
  const upgrade =
    line.upgrade === null ? '' : `connection: upgrade\r\n${fieldLines(['upgrade', line.upgrade])}`
  return `${line.method} ${line.path} HTTP/1.1\r\n${fields}${upgrade}${framingLine(line, framing)}\r\n`
}

function fieldLines(headers: RawHeaders): string {
  let text = ''
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? ''
    const value = headers[at + 1] ?? ''
    if (!TOKEN.test(name) || UNSAFE_VALUE.test(value))
      throw new Error(`the header ${name} is not safe to send`)
    text += `${name}: ${value}\r\n`
  }
  return text
}

function framingLine({ method, headers }: RequestLine, framing: RequestFraming): string {
  if (framing.kind === 'chunked') return 'transfer-encoding: chunked\r\n'
  if (hasLength(headers)) return ''
  if (framing.kind === 'length') return `content-length: ${framing.length}\r\n`
  // Servers expect Content-Length for these methods even without a body (RFC 9110, section 8.6).
  return method === 'POST' || method === 'PUT' || method === 'PATCH' ? 'content-length: 0\r\n' : ''
}

function hasLength(headers: RawHeaders): boolean {
  return declaredLength(headers) !== null
}

/** Returns the value of the Content-Length header; null when it is absent. */
function declaredLength(headers: RawHeaders): string | null {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? ''
    if (name.length === 14 && name.toLowerCase() === 'content-length') return headers[at + 1] ?? ''
  }
  return null
}
