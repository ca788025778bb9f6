/** Header fields that determine the length of a message body and the reuse of its connection. */
export type MessageFields = {
  contentLength: string | null
  transferEncoding: string | null
  connection: string | null
  /** Problem of a single field; null if every field is valid. */
  problem: string | null
}

/** Kind of the message, for the text of a problem. */
export type MessageKind = 'request' | 'response'

export function noteContentLength(fields: MessageFields, value: string, kind: MessageKind): void {
  if (fields.contentLength !== null) fields.problem = `the ${kind} has more than one Content-Length header`
  if (!/^\d{1,15}$/.test(value)) fields.problem = `the Content-Length of the ${kind} is not a number of bytes`
  fields.contentLength = value
}

export function noteTransferEncoding(fields: MessageFields, value: string, kind: MessageKind): void {
  if (fields.transferEncoding !== null)
    fields.problem = `the ${kind} has more than one Transfer-Encoding header`
  if (value.toLowerCase() !== 'chunked')
    fields.problem = `the Transfer-Encoding of the ${kind} is not "chunked"`
  fields.transferEncoding = value
}

export function noteConnection(fields: MessageFields, value: string): void {
  fields.connection = joined(fields.connection, value)
}

/**
 * Returns the reason why two HTTP parsers could read bodies of different lengths (request smuggling); null when they
 * cannot.
 */
export function lengthProblem(fields: MessageFields, isHttp10: boolean, kind: MessageKind): string | null {
  if (fields.problem !== null) return fields.problem
  if (fields.transferEncoding === null) return null
  if (fields.contentLength !== null)
    return `the ${kind} has both Content-Length and Transfer-Encoding; send one of them`
  return isHttp10 ? `an HTTP/1.0 ${kind} must not have Transfer-Encoding` : null
}

/** Returns true when the sender keeps the connection open after the message. */
export function persists(connection: string | null, isHttp10: boolean): boolean {
  if (connection === null) return !isHttp10
  const options = connection.toLowerCase()
  if (hasOption(options, 'close')) return false
  return !isHttp10 || hasOption(options, 'keep-alive')
}

/** Returns true when the comma-separated list, in lower case, has the option. */
export function hasOption(options: string, option: string): boolean {
  if (options === option) return true
  return options.includes(option) && options.split(',').some((one) => one.trim() === option)
}

/** Joins the values of a repeated header field with a comma. */
export function joined(before: string | null, value: string): string {
  return before === null ? value : `${before},${value}`
}
