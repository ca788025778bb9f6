import {
  lengthProblem,
  type MessageFields,
  noteConnection,
  noteContentLength,
  noteTransferEncoding,
  persists,
} from '../../http/http1/message-framing.ts'

/** Framing of a response: how to read the bytes after its head, and whether the connection may be reused. */
export type Framing = {
  /** `close`: the body ends with the connection. */
  readonly body: 'none' | 'length' | 'chunked' | 'close'
  /** Declared length in bytes; 0 unless `body` is `length`. */
  readonly length: number
  readonly keepAlive: boolean
  /** Idle timeout in seconds that the server declared; null when it declared none. */
  readonly keepAliveSeconds: number | null
}

/** Properties of the request that determine the framing of its response. */
export type Asked = { readonly isHead: boolean; readonly isUpgrade: boolean }

/** Status line and header fields that determine framing, collected while the head is parsed. */
type FramingFields = MessageFields & {
  readonly status: number
  readonly isHttp10: boolean
  keepAlive: string | null
}

export function noFields(status: number, isHttp10: boolean): FramingFields {
  return {
    status,
    isHttp10,
    contentLength: null,
    transferEncoding: null,
    connection: null,
    keepAlive: null,
    problem: null,
  }
}

/**
 * Collects a header field if it determines framing. A comparison of lengths excludes most names without a comparison of
 * text.
 */
export function noteField(fields: FramingFields, name: string, value: string): void {
  switch (name.length) {
    case 10:
    case 14:
    case 17:
      noteKnown(fields, name.toLowerCase(), value)
      return
    default:
      return
  }
}

function noteKnown(fields: FramingFields, name: string, value: string): void {
  switch (name) {
    case 'connection':
      noteConnection(fields, value)
      return
    case 'keep-alive':
      fields.keepAlive = value
      return
    case 'content-length':
      noteContentLength(fields, value, 'response')
      return
    case 'transfer-encoding':
      noteTransferEncoding(fields, value, 'response')
      return
    default:
      return
  }
}

/**
 * Returns the framing of a response. Returns a text instead when two HTTP parsers could read different messages; the
 * text is the reason.
 */
export function framingOf(fields: FramingFields, asked: Asked): Framing | string {
  const { status, isHttp10, contentLength, transferEncoding, keepAlive } = fields
  const problem = statusProblem(fields, asked) ?? lengthProblem(fields, isHttp10, 'response')
  if (problem !== null) return problem
  const length = contentLength === null ? 0 : Number(contentLength)
  const body = bodyOf(fields, asked.isHead)
  return {
    body: body === 'length' && length === 0 ? 'none' : body,
    length: body === 'length' ? length : 0,
    keepAlive:
      body !== 'close' && persists(fields.connection, isHttp10) && !isOdd(status, transferEncoding, length),
    keepAliveSeconds: keepAlive === null ? null : secondsOf(keepAlive),
  }
}

function statusProblem({ status, isHttp10 }: FramingFields, { isUpgrade }: Asked): string | null {
  if (status >= 200) return null
  if (isHttp10) return 'an HTTP/1.0 response is an interim response'
  return status === 101 && !isUpgrade
    ? 'the upstream switched protocols although the request has no Upgrade'
    : null
}

function bodyOf(fields: FramingFields, isHead: boolean): Framing['body'] {
  if (isHead || isBodiless(fields.status)) return 'none'
  if (fields.transferEncoding !== null) return 'chunked'
  return fields.contentLength === null ? 'close' : 'length'
}

function isBodiless(status: number): boolean {
  return status < 200 || status === 204 || status === 304
}

/**
 * Returns true when a response that cannot have a body declares one. The response is then read without a body (RFC
 * 9112, section 6.3), and the connection is not reused.
 */
function isOdd(status: number, transferEncoding: string | null, length: number): boolean {
  return (status === 204 || status < 200) && (transferEncoding !== null || length > 0)
}

function secondsOf(keepAlive: string): number | null {
  const digits = /(?:^|[,\s])timeout=(\d{1,6})(?:$|[,\s])/i.exec(keepAlive)?.[1]
  return digits === undefined ? null : Number(digits)
}
