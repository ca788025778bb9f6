import { parseFields } from '../../http/http1/field-lines.ts'
import { type Asked, type Framing, framingOf, noFields, noteField } from './response-framing.ts'

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

const INCOMPLETE: HeadResult = { kind: 'incomplete' }
export const HEAD_END = Buffer.from('\r\n\r\n')
export const MAX_HEAD_BYTES = 256 * 1024
const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?(?:\r\n|$)/
/** Positions of the minor version and of the status in a status line. */
const MINOR_AT = 'HTTP/1.'.length
const STATUS_AT = 'HTTP/1.1 '.length

/**
 * Parses one response head from the start of `bytes`, strictly by RFC 9112: CRLF only, no folding, no space before a
 * colon, at most 256 KiB. A head that two parsers could read differently is malformed.
 */
export function readResponseHead(bytes: Buffer, asked: Asked): HeadResult {
  const end = bytes.indexOf(HEAD_END)
  if ((end === -1 ? bytes.length : end) > MAX_HEAD_BYTES) {
    return malformed(`the headers of the response are larger than ${MAX_HEAD_BYTES} bytes`)
  }
  return end === -1 ? INCOMPLETE : parseHead(bytes.toString('latin1', 0, end), end + HEAD_END.length, asked)
}

function parseHead(text: string, end: number, asked: Asked): HeadResult {
  if (!STATUS_LINE.test(text)) return malformed('the status line is not "HTTP/1.1 status reason"')
  const status = Number(text.slice(STATUS_AT, STATUS_AT + 3))
  const headers: string[] = []
  const lineEnd = text.indexOf('\r\n', STATUS_AT)
  const detail = lineEnd === -1 ? null : parseFields(text, lineEnd + 2, headers)
  if (detail !== null) return malformed(detail)
  const fields = noFields(status, text[MINOR_AT] === '0')
  for (let at = 0; at < headers.length; at += 2) noteField(fields, headers[at] ?? '', headers[at + 1] ?? '')
  const framing = framingOf(fields, asked)
  return typeof framing === 'string'
    ? malformed(framing)
    : { kind: 'head', head: { status, headers, framing }, end }
}

function malformed(detail: string): HeadResult {
  return { kind: 'malformed', detail }
}
