import type { ErrorCode } from '../../../core/errors.ts'
import { isWebSocket } from '../../../core/request/canonicalise.ts'

/** A framing error of a request. The connection is closed after the response. */
export type Problem = {
  readonly code: ErrorCode
  readonly detail: string
  /** Set when no connector owns the host, so that the refusal counts as a refusal of an unknown host. */
  readonly reason?: 'unknown_host'
}

/** Framing of a request: how to read the bytes after its head, and whether the connection stays open. */
export type Framing = {
  readonly body: 'none' | 'length' | 'chunked'
  /** Declared length in bytes; 0 unless `body` is `length`. */
  readonly length: number
  readonly keepAlive: boolean
  readonly expectsContinue: boolean
  /** Upgrade header of a WebSocket request; null for other requests. */
  readonly upgrade: string | null
}

/** Header fields that determine framing, collected while the head is parsed. */
export type FramingFields = {
  contentLength: string | null
  transferEncoding: string | null
  connection: string | null
  expect: string | null
  upgrade: string | null
  hosts: number
  proxyAuthorizations: number
  problem: string | null
}

export function noFields(): FramingFields {
  return {
    contentLength: null,
    transferEncoding: null,
    connection: null,
    expect: null,
    upgrade: null,
    hosts: 0,
    proxyAuthorizations: 0,
    problem: null,
  }
}

/**
 * Collects a header field if it determines framing. A comparison of lengths excludes most names without a comparison of
 * text.
 */
export function noteField(fields: FramingFields, name: string, value: string): void {
  switch (name.length) {
    case 4:
    case 6:
    case 7:
    case 10:
    case 14:
    case 17:
    case 19:
      noteKnown(fields, name.toLowerCase(), value)
      return
    default:
      return
  }
}

function noteKnown(fields: FramingFields, name: string, value: string): void {
  switch (name) {
    case 'host':
      fields.hosts++
      return
    case 'expect':
      fields.expect = joined(fields.expect, value)
      return
    case 'upgrade':
      fields.upgrade = joined(fields.upgrade, value)
      return
    case 'connection':
      fields.connection = joined(fields.connection, value)
      return
    case 'content-length':
      noteContentLength(fields, value)
      return
    case 'transfer-encoding':
      noteTransferEncoding(fields, value)
      return
    case 'content_length':
    case 'transfer_encoding':
      fields.problem = `some servers read the header ${name} as a framing header; write the name with a hyphen`
      return
    case 'proxy-authorization':
      fields.proxyAuthorizations++
      return
    default:
      return
  }
}

/**
 * Returns the framing of a request. Returns a problem instead when two HTTP parsers could read different messages
 * (request smuggling).
 */
export function framingOf(
  method: string,
  httpVersion: '1.0' | '1.1',
  fields: FramingFields,
): Framing | Problem {
  const options = fields.connection === null ? '' : fields.connection.toLowerCase()
  const upgrade = upgradeOf(options, fields.upgrade)
  const detail =
    fields.problem ?? fieldProblem(method, httpVersion, fields) ?? bodyProblem(method, fields, upgrade)
  if (detail !== null) return { code: 'malformed_request', detail }
  const length = fields.contentLength === null ? 0 : Number(fields.contentLength)
  return {
    body: fields.transferEncoding !== null ? 'chunked' : length > 0 ? 'length' : 'none',
    length,
    keepAlive: httpVersion === '1.1' ? !hasOption(options, 'close') : hasOption(options, 'keep-alive'),
    expectsContinue: httpVersion === '1.1' && hasBody(fields) && fields.expect !== null,
    upgrade,
  }
}

function fieldProblem(method: string, httpVersion: '1.0' | '1.1', fields: FramingFields): string | null {
  if (fields.hosts > 1) return 'the request has more than one Host header'
  if (fields.hosts === 0 && httpVersion === '1.1' && method !== 'CONNECT')
    return 'the request has no Host header'
  if (fields.proxyAuthorizations > 1) return 'the request has more than one Proxy-Authorization header'
  if (fields.contentLength !== null && fields.transferEncoding !== null) {
    return 'the request has both Content-Length and Transfer-Encoding; send one of them'
  }
  if (fields.transferEncoding !== null && httpVersion === '1.0')
    return 'an HTTP/1.0 request must not have Transfer-Encoding'
  if (fields.expect !== null && fields.expect.toLowerCase() !== '100-continue') {
    return 'the header Expect must be "100-continue"'
  }
  return null
}

function upgradeOf(options: string, upgrade: string | null): string | null {
  return isWebSocket(upgrade) && hasOption(options, 'upgrade') ? upgrade : null
}

function bodyProblem(method: string, fields: FramingFields, upgrade: string | null): string | null {
  if (!hasBody(fields)) return null
  if (method === 'CONNECT')
    return 'a CONNECT request must not have a body; remove Content-Length and Transfer-Encoding'
  return upgrade === null ? null : 'a request that upgrades the connection cannot have a body'
}

function hasBody(fields: FramingFields): boolean {
  return (
    fields.transferEncoding !== null || (fields.contentLength !== null && Number(fields.contentLength) > 0)
  )
}

function noteContentLength(fields: FramingFields, value: string): void {
  if (fields.contentLength !== null) fields.problem = 'the request has more than one Content-Length header'
  if (!/^\d{1,15}$/.test(value)) fields.problem = 'Content-Length is not a number of bytes'
  fields.contentLength = value
}

function noteTransferEncoding(fields: FramingFields, value: string): void {
  if (fields.transferEncoding !== null)
    fields.problem = 'the request has more than one Transfer-Encoding header'
  if (value.toLowerCase() !== 'chunked') fields.problem = 'Transfer-Encoding must be "chunked"'
  fields.transferEncoding = value
}

function joined(before: string | null, value: string): string {
  return before === null ? value : `${before},${value}`
}

function hasOption(options: string, option: string): boolean {
  if (options === option) return true
  return options.includes(option) && options.split(',').some((one) => one.trim() === option)
}
