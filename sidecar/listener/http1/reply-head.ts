import { STATUS_CODES } from 'node:http'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import { refusalText } from '../refusal-text.ts'

const UNSAFE = /[^\t\x20-\x7e\x80-\xff]/
const statusLines = new Map<number, string>()

/** Returns the status line with CRLF, for example `HTTP/1.1 200 OK`. */
export function statusLine(status: number): string {
  const known = statusLines.get(status)
  if (known !== undefined) return known
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n`
  // The cache has at most 900 entries, one for each three-digit status.
  if (status >= 100 && status < 1000) statusLines.set(status, line)
  return line
}

/** Maximum length of a reason phrase in bytes. Clients have limits for the status line. */
const MAX_PHRASE = 100

/**
 * Returns the status line of a refusal with the reason as phrase, because clients of CONNECT and WebSocket show the
 * phrase and not the body. The phrase has only visible ASCII characters and blanks, because agents choose parts of the
 * reason.
 */
export function refusalLine(status: number, body: Buffer | string): string {
  const text = refusalText(body.toString()).replace(/[^\x20-\x7e]+/g, '?')
  const phrase = text.length > MAX_PHRASE ? `${text.slice(0, MAX_PHRASE - 3)}...` : text
  return phrase.trim() === '' ? statusLine(status) : `HTTP/1.1 ${status} ${phrase}\r\n`
}

export type FieldLines = {
  readonly lines: string
  /** Declared length of the body in bytes; null when the headers declare none. */
  readonly contentLength: number | null
}

/** Returns header fields as lines, without hop-by-hop and framing fields, which the gateway sets itself. */
export function fieldLines(headers: RawHeaders): FieldLines {
  let lines = ''
  let contentLength: number | null = null
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ''
    const value = headers[i + 1] ?? ''
    const role = roleOf(name)
    if (role === 'length') contentLength = /^\d{1,15}$/.test(value) ? Number(value) : contentLength
    if (role === 'field') lines += fieldLine(name, value)
  }
  return { lines, contentLength }
}

/** Returns true when the response headers contain `Connection: close`. */
export function asksToClose(headers: RawHeaders): boolean {
  return headers.some(
    (text, at) => at % 2 === 0 && /^connection$/i.test(text) && /^close$/i.test(headers[at + 1] ?? ''),
  )
}

/** Returns true when name and value contain no character that could end the header line early. */
export function isSafeField(name: string, value: string): boolean {
  return !UNSAFE.test(name) && !UNSAFE.test(value)
}

/**
 * Returns one header line. Characters that could end the line or are not latin-1 become `?`, so that a value cannot add
 * a header (response splitting).
 */
export function fieldLine(name: string, value: string): string {
  if (!isSafeField(name, value)) return `${cleaned(name)}: ${cleaned(value)}\r\n`
  return `${name}: ${value}\r\n`
}

function roleOf(name: string): 'field' | 'length' | 'hop' {
  switch (name.length) {
    case 10:
      return /^(?:connection|keep-alive)$/i.test(name) ? 'hop' : 'field'
    case 14:
      return name.toLowerCase() === 'content-length' ? 'length' : 'field'
    case 17:
      return name.toLowerCase() === 'transfer-encoding' ? 'hop' : 'field'
    default:
      return 'field'
  }
}

function cleaned(text: string): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
}
