import { type Framing, framingOf, noFields, noteField } from './response-framing.ts'

export type ResponseHead = {
  readonly status: number
  /**
   * Header names and values, alternating, in latin-1. Order, case and duplicates are kept; whitespace around values is
   * removed.
   */
  readonly headers: readonly string[]
  readonly framing: Framing
}

export type HeadResult =
  | { readonly kind: 'head'; readonly head: ResponseHead; readonly end: number }
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'malformed'; readonly detail: string }

/** Properties of the request that determine the framing of its response. */
export type Asked = { readonly isHead: boolean; readonly isUpgrade: boolean }

const INCOMPLETE: HeadResult = { kind: 'incomplete' }
export const HEAD_END = Buffer.from('\r\n\r\n')
export const MAX_HEAD_BYTES = 256 * 1024
const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?$/
/** Positions of the minor version and of the status in a status line. */
const MINOR_AT = 'HTTP/1.'.length
const STATUS_AT = 'HTTP/1.1 '.length
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const CONTROL = /[^\t\x20-\x7e\x80-\xff]/

/**
 * Parses one response head from the start of `bytes`, strictly by RFC 9112: CRLF only, no folding, no space before a
 * colon, at most 256 KiB. A head that two parsers could read differently is malformed.
 */
export function readResponseHead(bytes: Buffer, asked: Asked): HeadResult {
  const end = bytes.indexOf(HEAD_END)
  if ((end === -1 ? bytes.length : end) > MAX_HEAD_BYTES) {
    return malformed(`the headers of the response are larger than ${MAX_HEAD_BYTES} bytes`)
  }
  return end === -1
    ? INCOMPLETE
    : parseHead(bytes.toString('latin1', 0, end), { end: end + HEAD_END.length, asked })
}

function parseHead(text: string, { end, asked }: { end: number; asked: Asked }): HeadResult {
  const lineEnd = text.indexOf('\r\n')
  if (!STATUS_LINE.test(lineEnd === -1 ? text : text.slice(0, lineEnd)))
    return malformed('the status line is not "HTTP/1.1 status reason"')
  const headers: string[] = []
  const detail = lineEnd === -1 ? null : parseFields(text, lineEnd + 2, headers)
  if (detail !== null) return malformed(detail)
  const fields = noFields()
  for (let at = 0; at < headers.length; at += 2) noteField(fields, headers[at] ?? '', headers[at + 1] ?? '')
  const status = Number(text.slice(STATUS_AT, STATUS_AT + 3))
  const { isHead, isUpgrade } = asked
  const isHttp10 = text[MINOR_AT] === '0'
  const framing = framingOf({ status, isHttp10, fields, isHead, isUpgrade })
  return typeof framing === 'string'
    ? malformed(framing)
    : { kind: 'head', head: { status, headers, framing }, end }
}

/** Parses header fields, or trailers in the same syntax, into `out`. Returns the problem with a field, or null. */
export function parseFields(text: string, from: number, out: string[]): string | null {
  let at = from
  while (at < text.length) {
    const found = text.indexOf('\r\n', at)
    const end = found === -1 ? text.length : found
    const colon = text.indexOf(':', at)
    if (colon === -1 || colon > end) return 'a header line has no colon'
    const name = text.slice(at, colon)
    if (!TOKEN.test(name)) return 'a header name is empty, folded, or has a character that is not allowed'
    const value = trimmed(text, colon + 1, end)
    if (CONTROL.test(value)) return 'a header value has a control character'
    out.push(name, value)
    at = end + 2
  }
  return null
}

function trimmed(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9
}

function malformed(detail: string): HeadResult {
  return { kind: 'malformed', detail }
}
