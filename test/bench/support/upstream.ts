import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { WebSocketServer } from 'ws'

/**
 * The upstream of every subject, a process of its own. TLS, HTTP/1.1 and HTTP/2, fixed answers:
 * `POST /v1/chat/completions` 1 KiB JSON · `POST /mcp` JSON-RPC · `GET /v1/sse` N events · `GET /v1/download` MiB · `POST /v1/upload` ·
 * WebSocket echo. Counts what arrives and how much of it carries the credential; the message `stats` asks for that.
 */
const saw = { requests: 0, withCredential: 0 }
process.on('message', (message) => {
  if (message === 'stats') process.send?.({ type: 'stats', ...saw })
})
const KIB = Buffer.from(JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', pad: 'x'.repeat(960) }))
const BLOCK = Buffer.alloc(256 * 1024, 0x61)

const server = createSecureServer({
  key: readFileSync(process.env['KEY_FILE'] ?? ''),
  cert: readFileSync(process.env['CERT_FILE'] ?? ''),
  allowHTTP1: true,
})
server.on('request', (request: Http2ServerRequest, response: Http2ServerResponse) => {
  count(request.headers.authorization)
  const url = new URL(request.url, 'https://upstream')
  const answer = ROUTES[url.pathname] ?? chat
  answer(request, response, url.searchParams)
})
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
  count(request.headers.authorization)
  sockets.handleUpgrade(request, socket, head, (client) => {
    client.on('message', (data, isBinary) => client.send(data, { binary: isBinary }))
  })
})
server.listen(0, '127.0.0.1', () => {
  process.send?.({ type: 'ready', port: (server.address() as AddressInfo).port })
})
process.on('disconnect', () => process.exit(0))

function count(authorization: string | undefined): void {
  saw.requests += 1
  if (authorization === 'Bearer sk-bench-injected') saw.withCredential += 1
}

type Answer = (request: Http2ServerRequest, response: Http2ServerResponse, query: URLSearchParams) => void

const ROUTES: Readonly<Record<string, Answer>> = {
  '/v1/sse': sse,
  '/v1/download': download,
  '/v1/upload': chat,
  '/mcp': mcp,
}

function chat(request: Http2ServerRequest, response: Http2ServerResponse): void {
  request.resume()
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': KIB.length })
    response.end(KIB)
  })
}

/** JSON-RPC: every tool says that it is done. */
function mcp(request: Http2ServerRequest, response: Http2ServerResponse): void {
  let text = ''
  request.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  request.on('end', () => {
    const { id } = JSON.parse(text) as { id: number }
    const result = { content: [{ type: 'text', text: 'done' }] }
    const body = JSON.stringify({ jsonrpc: '2.0', id, result })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  })
}

/** `?events=N&every=MS`: each event carries the time it was written, so that the reader knows its delay. */
function sse(request: Http2ServerRequest, response: Http2ServerResponse, query: URLSearchParams): void {
  const events = Number(query.get('events') ?? 200)
  const everyMs = Number(query.get('every') ?? 20)
  request.resume()
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let sent = 0
  const timer = setInterval(() => {
    sent += 1
    response.write(`id: ${sent}\ndata: ${process.hrtime.bigint()}\n\n`)
    if (sent < events) return
    clearInterval(timer)
    response.end()
  }, everyMs)
  response.on('close', () => {
    clearInterval(timer)
    if (sent < events) process.send?.({ type: 'closed', at: process.hrtime.bigint().toString() })
  })
}

function download(request: Http2ServerRequest, response: Http2ServerResponse, query: URLSearchParams): void {
  let left = Number(query.get('mib') ?? 1) * 4
  request.resume()
  response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-length': left * BLOCK.length,
  })
  const pump = () => {
    while (left > 0) {
      left -= 1
      if (!response.write(BLOCK)) return void response.once('drain', pump)
    }
    response.end()
  }
  pump()
}
