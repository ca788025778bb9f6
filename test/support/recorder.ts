import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createSecureServer as createHttp2 } from 'node:http2'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'

/**
 * One request as the upstream received it. `target` and the header pairs are bytes as latin-1. `body` grows until
 * `isComplete`.
 */
export type Seen = {
  readonly method: string
  readonly target: string
  readonly rawHeaders: readonly string[]
  readonly httpVersion: string
  readonly servername: string | null
  /** When the head arrived, in milliseconds of `performance.now()`. */
  readonly atMs: number
  readonly body: Buffer
  readonly isComplete: boolean
  /** True when the client closed the connection before the response was complete. */
  readonly isCut: boolean
  header(name: string): string | undefined
  headerCount(name: string): number
}

export type Answer = (request: IncomingMessage, response: ServerResponse, seen: Seen) => unknown

export type RecorderOptions = {
  /** The recorder uses TLS with this key and certificate, and plain HTTP without them. */
  readonly tls?: { readonly key: string; readonly cert: string }
  /** True also accepts HTTP/2; requires `tls`. */
  readonly h2?: boolean
  readonly answer?: Answer
}

export type Recorder = AsyncDisposable & {
  readonly port: number
  /** `http://127.0.0.1:port` or `https://…`. */
  readonly url: string
  readonly seen: readonly Seen[]
  /**
   * Look-ups that the gateway sent (user agent `chaperone-look-up`). `seen` does not contain them. The default response is 404.
   */
  readonly lookUps: readonly Seen[]
  /** Number of connections accepted so far, without those on which the gateway sent a look-up. */
  readonly connections: number
  readonly openConnections: number
  /** Sets the response to later requests. */
  answerWith(answer: Answer): void
  answerLookUpsWith(answer: Answer): void
  /** Resolves when `count` requests have arrived completely; rejects after `timeoutMs`. */
  received(count: number, timeoutMs?: number): Promise<readonly Seen[]>
  close(): Promise<void>
}

type Entry = { -readonly [K in keyof Seen]: Seen[K] } & { chunks: Buffer[] }

/** Starts an upstream server on 127.0.0.1 that records every request. */
export async function startRecorder(options: RecorderOptions = {}): Promise<Recorder> {
  const entries: Entry[] = []
  const sockets = new Set<Socket>()
  const waiting = new Set<() => void>()
  const lookUps: Entry[] = []
  const ofGateway = new WeakSet<object>()
  const notFound = replyJson({ message: 'Not Found' }, 404)
  const state = { answer: options.answer ?? replyJson({ ok: true }), answerLookUp: notFound, connections: 0 }
  const changed = () => {
    for (const check of [...waiting]) check()
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    const entry = newEntry(request)
    const isLookUp = request.headers['user-agent'] === 'chaperone-look-up'
    const list = isLookUp ? lookUps : entries
    list.push(entry)
    if (isLookUp && !ofGateway.has(request.socket)) state.connections -= 1
    if (isLookUp) ofGateway.add(request.socket)
    request.on('data', (chunk: Buffer) => entry.chunks.push(chunk))
    request.on('end', () => {
      entry.isComplete = true
      changed()
    })
    response.on('close', () => {
      entry.isCut = !response.writableFinished
      changed()
    })
    request.on('error', () => undefined)
    changed()
    const answer = isLookUp ? state.answerLookUp : state.answer
    answer(request, response, entry)
  }
  const server = listenerFor(options, onRequest)
  server.on('connection', (socket: Socket) => {
    state.connections += 1
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const entry = newEntry(request)
    entry.isComplete = true
    entries.push(entry)
    changed()
    echoWebSocket(request, socket, head)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  const received = (count: number, timeoutMs = 60_000) =>
    new Promise<readonly Seen[]>((resolve, reject) => {
      const check = () => {
        if (entries.filter((entry) => entry.isComplete).length < count) return
        clearTimeout(timer)
        waiting.delete(check)
        resolve(entries)
      }
      const timer = setTimeout(() => {
        waiting.delete(check)
        reject(new Error(`the recorder saw ${entries.length} of ${count} requests`))
      }, timeoutMs)
      waiting.add(check)
      check()
    })

  const close = async () => {
    for (const socket of sockets) socket.destroy()
    if (server.listening) await new Promise((done) => server.close(done))
  }

  return {
    port,
    url: `${options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    seen: entries,
    lookUps,
    get connections() {
      return state.connections
    },
    get openConnections() {
      return sockets.size
    },
    answerWith(answer) {
      state.answer = answer
    },
    answerLookUpsWith(answer) {
      state.answerLookUp = answer
    },
    received,
    close,
    [Symbol.asyncDispose]: close,
  }
}

// ---- scripted responses ---------------------------------------------------------------------------------------

export function replyJson(body: unknown, status = 200, headers: Record<string, string> = {}): Answer {
  return (request, response) => {
    request.on('end', () => {
      const text = JSON.stringify(body)
      response.writeHead(status, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        ...headers,
      })
      response.end(request.method === 'HEAD' ? undefined : text)
    })
    request.resume()
  }
}

/** Responds immediately, before the request body is read. */
export function replyEarly(status: number, text: string): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'text/plain', 'content-length': Buffer.byteLength(text) })
    response.end(text)
  }
}

/** Responds with `events` server-sent events. Each event is one write, and the writes are `gapMs` apart. */
export function replySse(events: number, gapMs = 0): Answer {
  return (request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.flushHeaders()
    let sent = 0
    const next = () => {
      if (response.destroyed) return
      if (sent === events) {
        response.end()
        return
      }
      response.write(`data: ${sent++}\n\n`)
      setTimeout(next, gapMs)
    }
    next()
  }
}

export function replyRedirect(location: string, status = 302): Answer {
  return (request, response) => {
    request.resume()
    response.writeHead(status, { location, 'content-length': 0 }).end()
  }
}

/**
 * Responds with a body of `bytes` bytes, written as fast as the client reads. `declared` selects Content-Length, else the
 * body is chunked.
 */
export function replyDownload(bytes: number, declared = true): Answer {
  const block = Buffer.alloc(64 * 1024, 'x')
  return (request, response) => {
    request.resume()
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      ...(declared ? { 'content-length': bytes } : {}),
    })
    let left = bytes
    const more = () => {
      while (left > 0 && !response.destroyed) {
        const part = left >= block.length ? block : block.subarray(0, left)
        left -= part.length
        if (!response.write(part)) {
          response.once('drain', more)
          return
        }
      }
      response.end()
    }
    more()
  }
}

/** Responds with a chunked body of `parts` and with trailers. */
export function replyChunkedWithTrailers(parts: readonly string[], trailers: Record<string, string>): Answer {
  return (request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/plain', trailer: Object.keys(trailers).join(', ') })
    for (const part of parts) response.write(part)
    response.addTrailers(trailers)
    response.end()
  }
}

/** Reads the request and never responds. */
export function replyNever(): Answer {
  return (request) => {
    request.resume()
  }
}

/** Sends half of a response, then closes the connection. */
export function replyHalf(): Answer {
  return (request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 100 })
    response.write('half', () => request.socket.destroy())
  }
}

/** Closes the connection without a response. */
export function replyCut(): Answer {
  return (request) => {
    request.resume()
    request.on('end', () => request.socket.destroy())
  }
}

// ---- servers --------------------------------------------------------------------------------------------------

function listenerFor(
  options: RecorderOptions,
  onRequest: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  if (options.tls === undefined) return createHttp({ requestTimeout: 0, maxHeaderSize: 64 * 1024 }, onRequest)
  if (options.h2 !== true) return createHttps({ ...options.tls, requestTimeout: 0 }, onRequest)
  const server = createHttp2({ ...options.tls, allowHTTP1: true })
  server.on('request', (request, response) => {
    // Node's HTTP/2 compatibility API has the same methods; only the class differs.
    onRequest(request as unknown as IncomingMessage, response as unknown as ServerResponse)
  })
  return server
}

function newEntry(request: IncomingMessage): Entry {
  const chunks: Buffer[] = []
  const socket = request.socket as Socket & { servername?: string | false }
  const values = (name: string) =>
    request.rawHeaders.filter(
      (_value, at) => at % 2 === 1 && request.rawHeaders[at - 1]?.toLowerCase() === name,
    )
  return {
    method: request.method ?? '',
    target: request.url ?? '',
    rawHeaders: [...request.rawHeaders],
    httpVersion: request.httpVersion,
    atMs: performance.now(),
    servername: typeof socket.servername === 'string' ? socket.servername : null,
    chunks,
    get body() {
      return Buffer.concat(chunks)
    },
    isComplete: false,
    isCut: false,
    header: (name) => values(name.toLowerCase())[0],
    headerCount: (name) => values(name.toLowerCase()).length,
  }
}

function echoWebSocket(request: IncomingMessage, socket: Duplex, head: Buffer): void {
  socket.on('error', () => socket.destroy())
  if (request.url?.includes('refuse') === true) {
    socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nno')
    return
  }
  const server = new WebSocketServer({ noServer: true })
  server.handleUpgrade(request, socket, head, (peer) => {
    peer.on('message', (data, isBinary) => peer.send(data, { binary: isBinary }))
    peer.on('error', () => peer.terminate())
  })
}
