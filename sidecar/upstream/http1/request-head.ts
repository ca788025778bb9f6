import type { RawHeaders } from '../../../core/request/canonical.ts'

export type RequestLine = {
  readonly method: string
  readonly path: string
  /** End-to-end fields, Host included. */
  readonly headers: RawHeaders
  /** Value of the Upgrade header for a request that wants to leave HTTP. */
  readonly upgrade: string | null
}

/** How the request's body is delimited: not at all, by the declared length, or in chunks. */
export type RequestFraming =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const TARGET = /^[\x21-\xff]+$/
/** Beyond latin-1 a character would be cut down to another byte, a line feed perhaps. */
const UNSAFE_VALUE = /[^\t\x20-\x7e\x80-\xff]/

/**
 * The head as latin-1 text. Throws for what could be read as more than one line: everything here was checked when it
 * came in, so this is the last door and not the first.
 */
export function requestHead(line: RequestLine, framing: RequestFraming): string {
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
  // These methods have a body by their meaning: servers ask for a length even where it is nothing (RFC 9110 8.6).
  return method === 'POST' || method === 'PUT' || method === 'PATCH' ? 'content-length: 0\r\n' : ''
}

function hasLength(headers: RawHeaders): boolean {
  return declaredLength(headers) !== null
}

/** The Content-Length among `headers`, or null. */
export function declaredLength(headers: RawHeaders): string | null {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? ''
    if (name.length === 14 && name.toLowerCase() === 'content-length') return headers[at + 1] ?? ''
  }
  return null
}
