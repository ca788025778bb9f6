import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'

export type RequestSeen = {
  readonly method: string
  readonly target: string
  readonly headers: readonly string[]
  readonly body: string
}

export type ResponseSeen = {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: string
  readonly trailers: readonly string[]
}

/** A connection in memory. Bytes are received by `emit('data')`. */
export class MemorySocket extends Duplex {
  /** Sent bytes, as latin-1 text. */
  written = ''
  override _read(): void {}
  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.written += chunk.toString('latin1')
    callback()
  }
  setTimeout(): this {
    return this
  }
  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  destroySoon(): void {
    this.destroy()
  }
}

/** Returns after the streams have emitted what the parser has parsed. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}

/** Parser of requests of Node (llhttp) behind its public API. */
export function createReferenceServer(): (pieces: readonly Buffer[]) => () => readonly RequestSeen[] {
  const seen = new WeakMap<object, RequestSeen[]>()
  const note = (request: IncomingMessage): void => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    request.on('end', () => {
      const { method = '', url: target = '', rawHeaders: headers } = request
      if (!request.complete) return
      seen.get(request.socket)?.push({
        ...{ method, target, headers },
        body: Buffer.concat(chunks).toString('latin1'),
      })
    })
  }
  const server = createServer({ keepAlive: false })
  server.on('request', note)
  server.on('checkContinue', note)
  server.on('checkExpectation', note)
  server.on('connect', ({ method = '', url: target = '', rawHeaders: headers, socket }) => {
    seen.get(socket)?.push({ method, target, headers, body: '' })
  })
  // The socket stays open until its result is read, because the requests before the error end later.
  server.on('clientError', () => undefined)
  return (pieces) => {
    const socket = new MemorySocket()
    const requests: RequestSeen[] = []
    seen.set(socket, requests)
    server.emit('connection', socket)
    for (const piece of pieces) socket.emit('data', piece)
    return () => {
      socket.destroy()
      return requests
    }
  }
}

/** Parses a response by the client of Node. The result is null for a response that was refused or cut. */
export function readByReference(pieces: readonly Buffer[], method: string): () => ResponseSeen | null {
  const socket = new MemorySocket()
  let answer: IncomingMessage | null = null
  const chunks: Buffer[] = []
  const request = httpRequest({ createConnection: () => socket, method }, (response) => {
    answer = response
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('error', () => undefined)
  })
  request.on('error', () => undefined)
  request.end()
  process.nextTick(() =>
    setImmediate(() => {
      for (const piece of pieces) socket.emit('data', piece)
      socket.emit('end')
    }),
  )
  return () => {
    socket.destroy()
    const isBodiless = method === 'HEAD' || answer?.statusCode === 204 || answer?.statusCode === 304
    if (answer === null || !(answer.complete || isBodiless)) return null
    const body = Buffer.concat(chunks).toString('latin1')
    const { statusCode: status = 0, rawHeaders: headers, rawTrailers: trailers } = answer as IncomingMessage
    return { status, headers, body, trailers }
  }
}
