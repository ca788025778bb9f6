import type { ErrorCode } from '../../../core/errors.ts'
import { isWebSocket } from '../../../core/request/canonicalise.ts'
import {
  hasOption,
  joined,
  lengthProblem,
  type MessageFields,
  noteConnection,
  noteContentLength,
  noteTransferEncoding,
  persists,
} from '../../http/http1/message-framing.ts'

/**
 * Problem that the listener found in a request, for example ambiguous framing or a used-up quota. After a framing
 * problem the connection is closed.
 */
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
export type FramingFields = MessageFields & {
  expect: string | null
  upgrade: string | null
  hosts: number
  proxyAuthorizations: number
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
      noteConnection(fields, value)
      return
    case 'content-length':
      noteContentLength(fields, value, 'request')
      return
    case 'transfer-encoding':
      noteTransferEncoding(fields, value, 'request')
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
  const isHttp10 = httpVersion === '1.0'
  const detail =
    lengthProblem(fields, isHttp10, 'request') ??
    fieldProblem(method, isHttp10, fields) ??
    bodyProblem(method, fields, upgrade)
  if (detail !== null) return { code: 'malformed_request', detail }
  const length = fields.contentLength === null ? 0 : Number(fields.contentLength)
  return {
    body: fields.transferEncoding !== null ? 'chunked' : length > 0 ? 'length' : 'none',
    length,
    keepAlive: persists(fields.connection, isHttp10),
    expectsContinue: !isHttp10 && hasBody(fields) && fields.expect !== null,
    upgrade,
  }
}

function fieldProblem(method: string, isHttp10: boolean, fields: FramingFields): string | null {
  if (fields.hosts > 1) return 'the request has more than one Host header'
  if (fields.hosts === 0 && !isHttp10 && method !== 'CONNECT') return 'the request has no Host header'
  if (fields.proxyAuthorizations > 1) return 'the request has more than one Proxy-Authorization header'
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
