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

/** Header fields that determine framing, collected while the head is parsed. */
export type FramingFields = {
  contentLength: string | null
  transferEncoding: string | null
  connection: string | null
  keepAlive: string | null
  isRepeated: boolean
}

export function noFields(): FramingFields {
  return {
    contentLength: null,
    transferEncoding: null,
    connection: null,
    keepAlive: null,
    isRepeated: false,
  }
}

/**
 * Collects a header field if it determines framing. A comparison of lengths excludes most names without a comparison of
 * text.
 */
export function noteField(fields: FramingFields, name: string, value: string): void {
  switch (name.length) {
    case 10:
      noteConnection(fields, name.toLowerCase(), value)
      return
    case 14:
      if (name.toLowerCase() !== 'content-length') return
      if (fields.contentLength !== null) fields.isRepeated = true
      fields.contentLength = value
      return
    case 17:
      if (name.toLowerCase() !== 'transfer-encoding') return
      if (fields.transferEncoding !== null) fields.isRepeated = true
      fields.transferEncoding = value
      return
    default:
      return
  }
}

function noteConnection(fields: FramingFields, name: string, value: string): void {
  if (name === 'connection') {
    fields.connection = fields.connection === null ? value : `${fields.connection},${value}`
  } else if (name === 'keep-alive') fields.keepAlive = value
}

export type FramingInput = {
  readonly status: number
  readonly isHttp10: boolean
  readonly fields: FramingFields
  readonly isHead: boolean
  readonly isUpgrade: boolean
}

/**
 * Returns the framing of a response. Returns a text instead when two HTTP parsers could read different messages; the
 * text is the reason.
 */
export function framingOf(input: FramingInput): Framing | string {
  const { status, isHttp10, fields } = input
  const problem = problemOf(input)
  if (problem !== null) return problem
  const { contentLength, transferEncoding, keepAlive } = fields
  const length = contentLength === null ? 0 : Number(contentLength)
  const body = bodyOf(input)
  return {
    body: body === 'length' && length === 0 ? 'none' : body,
    length: body === 'length' ? length : 0,
    keepAlive:
      body !== 'close' && persists(fields.connection, isHttp10) && !isOdd(status, transferEncoding, length),
    keepAliveSeconds: keepAlive === null ? null : secondsOf(keepAlive),
  }
}

function problemOf({ status, isHttp10, fields, isUpgrade }: FramingInput): string | null {
  const { contentLength, transferEncoding } = fields
  if (status === 101 && !isUpgrade)
    return 'the upstream switched protocols although the request has no Upgrade'
  if (fields.isRepeated) return 'the response has more than one Content-Length or Transfer-Encoding header'
  if (contentLength !== null && !/^\d{1,15}$/.test(contentLength))
    return 'the Content-Length of the response is not a number of bytes'
  return transferEncoding === null ? null : codingProblem(transferEncoding, contentLength, isHttp10)
}

function codingProblem(
  transferEncoding: string,
  contentLength: string | null,
  isHttp10: boolean,
): string | null {
  if (contentLength !== null) return 'the response has both Content-Length and Transfer-Encoding'
  if (isHttp10) return 'an HTTP/1.0 response must not have Transfer-Encoding'
  return transferEncoding.toLowerCase() === 'chunked'
    ? null
    : 'the Transfer-Encoding of the response is not "chunked"'
}

function bodyOf({ status, isHead, fields }: FramingInput): Framing['body'] {
  if (isHead || isBodiless(status)) return 'none'
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

function persists(connection: string | null, isHttp10: boolean): boolean {
  if (connection === null) return !isHttp10
  const options = connection.toLowerCase()
  if (hasOption(options, 'close')) return false
  return !isHttp10 || hasOption(options, 'keep-alive')
}

function hasOption(options: string, option: string): boolean {
  if (options === option) return true
  return options.includes(option) && options.split(',').some((one) => one.trim() === option)
}

function secondsOf(keepAlive: string): number | null {
  const digits = /(?:^|[,\s])timeout=(\d{1,6})(?:$|[,\s])/i.exec(keepAlive)?.[1]
  return digits === undefined ? null : Number(digits)
}
