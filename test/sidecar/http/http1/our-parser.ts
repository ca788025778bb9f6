import type { Socket } from 'node:net'
import { ChunkedDecoder, LengthDecoder } from '../../../../sidecar/http/http1/body-decoder.ts'
import type { Framing } from '../../../../sidecar/listener/http1/framing.ts'
import { readHead } from '../../../../sidecar/listener/http1/head.ts'
import { REQUEST_CHUNK_LIMITS } from '../../../../sidecar/listener/http1/request-body.ts'
import { UpstreamConnection } from '../../../../sidecar/upstream/http1/connection.ts'
import { MemorySocket, type RequestSeen, type ResponseSeen } from './reference-parser.ts'

/** `problem` is null when nothing was refused. `isOpen` is false after a message that is the last of its connection. */
export type RequestsRead = {
  readonly requests: readonly RequestSeen[]
  readonly problem: string | null
  readonly isOpen: boolean
}

/** Parses all requests as the listener does. */
export function readRequests(bytes: Buffer): RequestsRead {
  const requests: RequestSeen[] = []
  let rest = bytes
  while (rest.length > 0) {
    const result = readHead(rest)
    if (result.kind === 'malformed') return { requests, problem: result.problem.detail, isOpen: true }
    if (result.kind === 'incomplete') break
    const { method, target, rawHeaders: headers, framing } = result.head
    const body = readBody(framing, rest.subarray(result.end))
    if (typeof body === 'string') return { requests, problem: body, isOpen: true }
    if (body === null) break
    requests.push({ method, target, headers, body: body.text })
    if (!framing.keepAlive || method === 'CONNECT' || framing.upgrade !== null)
      return { requests, problem: null, isOpen: false }
    rest = body.rest
  }
  return { requests, problem: null, isOpen: true }
}

type Body = { readonly text: string; readonly rest: Buffer }

/** Returns the body; a text for a problem, and null for an incomplete body. */
function readBody({ body, length }: Framing, bytes: Buffer): Body | string | null {
  if (body === 'none') return { text: '', rest: bytes }
  const chunks: Buffer[] = []
  const sink = { push: (chunk: Buffer) => void chunks.push(chunk), complete() {} }
  const decoder =
    body === 'length' ? new LengthDecoder(sink, length) : new ChunkedDecoder(sink, REQUEST_CHUNK_LIMITS)
  const rest = decoder.feed(bytes)
  if (decoder.problem !== null) return decoder.problem
  if (!decoder.isDone) return null
  return { text: Buffer.concat(chunks).toString('latin1'), rest: rest ?? Buffer.alloc(0) }
}

const OWNER = { idle() {}, closed() {} }

/** Parses a response as an upstream connection does. The result is the problem of a response that was refused or cut. */
export function readResponse(bytes: Buffer, method: string): ResponseSeen | string {
  const socket = new MemorySocket()
  socket.on('error', () => undefined)
  const connection = new UpstreamConnection(socket as unknown as Socket, OWNER)
  const chunks: Buffer[] = []
  let head = { status: 0, headers: [] as readonly string[] }
  let result: ResponseSeen | string | null = null
  const request = { method, path: '/', host: 'a', headText: null, headers: [], upgrade: null }
  connection.send(
    { ...request, body: null, onBodyChunk: null },
    {
      interim() {},
      head(status, headers) {
        head = { status, headers }
      },
      data(chunk) {
        chunks.push(chunk)
        return true
      },
      end(trailers) {
        result = { ...head, body: Buffer.concat(chunks).toString('latin1'), trailers }
      },
      upgrade() {
        result = 'upgrade'
      },
      error(error) {
        result = error.message
      },
    },
  )
  socket.emit('data', bytes)
  if (result === null) socket.emit('end')
  socket.destroy()
  return result ?? 'no result'
}
