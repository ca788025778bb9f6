import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { parseFields } from '../../http/http1/field-lines.ts'
import { type Framing, framingOf, noFields, noteField, type Problem } from './framing.ts'

export type RequestHead = {
  readonly method: string
  readonly target: string
  readonly httpVersion: '1.0' | '1.1'
  /**
   * Header names and values, alternating, in latin-1. Order, case and duplicates are kept; whitespace around values is
   * removed.
   */
  readonly rawHeaders: readonly string[]
  readonly framing: Framing
}

export type HeadResult =
  | { readonly kind: 'head'; readonly head: RequestHead; readonly end: number }
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'malformed'; readonly problem: Problem; readonly head: RequestHead }

const INCOMPLETE: HeadResult = { kind: 'incomplete' }
const HEAD_END = Buffer.from('\r\n\r\n')
const CR = 13
const LF = 10
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}) ([\x21-\x7e]+) HTTP\/1\.([01])$/
const BROKEN_LINE_END = /(?:^|[^\r])\n|\r[^\n]|[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/

/**
 * Parses one request head from the start of `bytes`, strictly by RFC 9112: CRLF only, no folding, no space before a
 * colon, at most 16 KiB. Skips one empty line before the head, which old clients send after a POST. The first
 * `searched` bytes were parsed as incomplete before and are not searched again.
 */
export function readHead(bytes: Buffer, searched = 0): HeadResult {
  const start = bytes[0] === CR && bytes[1] === LF ? 2 : 0
  const end = bytes.indexOf(HEAD_END, Math.max(start, searched - HEAD_END.length + 1))
  if (end === -1) return unfinished(bytes, start, searched)
  if (end + HEAD_END.length - start > LIMITS.headerBlockBytes) return tooLarge(bytes, start)
  return parseHead(bytes.toString('latin1', start, end), end + HEAD_END.length)
}

/**
 * Returns the result for bytes that are not a request head. The result contains the readable part of the request line,
 * for the record.
 */
export function malformedHead(text: string, problem: Problem): HeadResult & { readonly kind: 'malformed' } {
  const line = text.split('\r\n', 1)[0] ?? ''
  const [, method = '', target = ''] = /^([A-Za-z]{1,32}) ([\x21-\x7e]{1,2048})(?: |$)/.exec(line) ?? []
  return {
    kind: 'malformed',
    problem,
    head: { method, target, httpVersion: '1.1', rawHeaders: [], framing: CLOSING },
  }
}

const CLOSING: Framing = { body: 'none', length: 0, keepAlive: false, expectsContinue: false, upgrade: null }

function unfinished(bytes: Buffer, start: number, searched: number): HeadResult {
  if (bytes.length - start > LIMITS.headerBlockBytes) return tooLarge(bytes, start)
  // The byte after a CR decides whether the CR ends a line, so a CR at the end of the searched part is checked again.
  const from = Math.max(start, bytes[searched - 1] === CR ? searched - 1 : searched)
  // Broken line ends are refused immediately. Otherwise a client that sends LF alone would wait until the timeout.
  if (BROKEN_LINE_END.test(bytes.toString('latin1', from)))
    return malformed(
      bytes.toString('latin1', start),
      'header lines must end with CRLF and contain no control characters',
    )
  return INCOMPLETE
}

function tooLarge(bytes: Buffer, start: number): HeadResult {
  const limit = LIMITS.headerBlockBytes
  const detail = `the request line and headers are larger than ${limit} bytes; send fewer or shorter headers`
  return malformedHead(bytes.toString('latin1', start, start + 4096), { code: 'headers_too_large', detail })
}

function parseHead(text: string, end: number): HeadResult {
  const lineEnd = text.indexOf('\r\n')
  const line = REQUEST_LINE.exec(lineEnd === -1 ? text : text.slice(0, lineEnd))
  if (line === null) return malformed(text, 'the request line is not "METHOD target HTTP/1.1"')
  const [, method = '', target = '', minor] = line
  const rawHeaders: string[] = []
  const fields = noFields()
  const detail = lineEnd === -1 ? null : parseFields(text, lineEnd + 2, rawHeaders)
  if (detail !== null) return malformed(text, detail)
  for (let i = 0; i < rawHeaders.length; i += 2)
    noteField(fields, rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '')
  const httpVersion = minor === '1' ? '1.1' : '1.0'
  const framing = framingOf(method, httpVersion, fields)
  if ('detail' in framing) {
    return {
      kind: 'malformed',
      problem: framing,
      head: { method, target, httpVersion, rawHeaders, framing: CLOSING },
    }
  }
  return { kind: 'head', head: { method, target, httpVersion, rawHeaders, framing }, end }
}

function malformed(text: string, detail: string): HeadResult {
  return malformedHead(text, { code: 'malformed_request', detail })
}
