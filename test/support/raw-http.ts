import type { Duplex } from 'node:stream'

/** A complete HTTP response as it was received. */
export type RawAnswer = {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/**
 * Sends bytes without changes and reads one response, for requests that no HTTP library sends. Rejects when the connection
 * closes before the response is complete, unless the close ends the response.
 */
export function sendRaw(
  socket: Duplex,
  bytes: Buffer | string,
  options: { readonly isHead?: boolean } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let buffered: Buffer = Buffer.alloc(0)
    const settle = (isClosed: boolean) => {
      const answer = parseAnswer(buffered, isClosed, options.isHead === true)
      if (answer === null)
        return isClosed
          ? fail(new Error(`closed after ${JSON.stringify(buffered.toString('latin1'))}`))
          : undefined
      cleanUp()
      return resolve(answer)
    }
    const onData = (chunk: Buffer) => {
      buffered = Buffer.concat([buffered, chunk])
      settle(false)
    }
    const onEnd = () => settle(true)
    const fail = (error: Error) => {
      cleanUp()
      reject(error)
    }
    const cleanUp = () => {
      socket.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', fail)
    }
    socket.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', fail)
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  })
}

/** Encodes a request. Adds a correct Content-Length when the request has a body. */
export function requestBytes(
  method: string,
  target: string,
  headers: ReadonlyArray<readonly [string, string]>,
  body?: string | Buffer,
): Buffer {
  const payload = body === undefined ? Buffer.alloc(0) : Buffer.from(body)
  const hasLength = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name))
  const length = payload.length > 0 && !hasLength ? `Content-Length: ${payload.length}\r\n` : ''
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([
    Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}${length}\r\n`, 'latin1'),
    payload,
  ])
}

function parseAnswer(bytes: Buffer, isClosed: boolean, isHead: boolean): RawAnswer | null {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return null
  const lines = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const status = Number(lines[0]?.split(' ')[1])
  if (status >= 100 && status < 200 && status !== 101)
    return parseAnswer(bytes.subarray(end + 4), isClosed, isHead)
  const headers = new Map<string, string>()
  for (const line of lines.slice(1)) {
    const colon = line.indexOf(':')
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim())
  }
  const body = isHead ? Buffer.alloc(0) : bodyOf(bytes.subarray(end + 4), status, headers, isClosed)
  return body === null ? null : { status, headers, body }
}

function bodyOf(
  rest: Buffer,
  status: number,
  headers: ReadonlyMap<string, string>,
  isClosed: boolean,
): Buffer | null {
  if (status === 101 || status === 204 || status === 304) return Buffer.alloc(0)
  const length = headers.get('content-length')
  if (length !== undefined) return rest.length >= Number(length) ? rest.subarray(0, Number(length)) : null
  if (headers.get('transfer-encoding') === 'chunked') return dechunk(rest)
  return isClosed ? rest : null
}

function dechunk(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line === -1) return null
    const size = Number.parseInt(bytes.subarray(at, line).toString('latin1'), 16)
    if (size === 0)
      return bytes.indexOf('\r\n\r\n', line) === -1 && bytes.indexOf('\r\n', line + 2) === -1
        ? null
        : Buffer.concat(parts)
    if (bytes.length < line + 2 + size + 2) return null
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}
