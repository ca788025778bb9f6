import type { Socket } from 'node:net'
import type { WireRequest } from '../../../../sidecar/upstream/http1/connection.ts'
import { type Codec, PRESENT } from './codec.ts'
import { MemorySocket } from './reference-parser.ts'

export type ResponseRead = {
  /** Reason of the refusal; null for a response that ended or that upgraded the connection. */
  readonly problem: string | null
  readonly isUpgrade: boolean
  readonly interims: ReadonlyArray<{ readonly status: number; readonly headers: readonly string[] }>
  readonly status: number
  readonly headers: readonly string[]
  readonly hasBody: boolean
  readonly body: string
  readonly trailers: readonly string[]
  /** The connection may be used again, for so many seconds if the server states them. */
  readonly reuse: { readonly seconds: number | null } | null
  /** Bytes of the request. */
  readonly written: string
}

/** A request to send. */
export type Outgoing = Pick<WireRequest, 'method' | 'path' | 'headers' | 'upgrade'> & {
  readonly body: string | null
}

/** A plain request with this method. */
export function plainRequest(method: string): Outgoing {
  return { method, path: '/', headers: [], upgrade: null, body: null }
}

/** Sends a request, and parses its response as an upstream connection does. The bytes arrive in these pieces. */
export function readResponse(
  pieces: readonly Buffer[],
  outgoing: Outgoing,
  codec: Codec = PRESENT,
): ResponseRead {
  const socket = new MemorySocket()
  socket.on('error', () => undefined)
  const read = {
    ...{
      problem: null as string | null,
      isUpgrade: false,
      interims: [] as ResponseRead['interims'][number][],
    },
    ...{ status: 0, headers: [] as readonly string[], hasBody: false, trailers: [] as readonly string[] },
    reuse: null as ResponseRead['reuse'],
  }
  let isSettled = false
  const chunks: Buffer[] = []
  const owner = {
    closed() {},
    idle(_: unknown, seconds: number | null) {
      read.reuse = { seconds }
    },
  }
  const connection = new codec.UpstreamConnection(socket as unknown as Socket, owner)
  const { body } = outgoing
  connection.send(
    {
      ...{ ...outgoing, host: 'a', headText: null, onBodyChunk: null },
      body: body === null ? null : Buffer.from(body, 'latin1'),
    },
    {
      interim: (status, headers) => void read.interims.push({ status, headers }),
      head: (status, headers, hasBody) => void Object.assign(read, { status, headers, hasBody }),
      data(chunk) {
        chunks.push(chunk)
        return true
      },
      end(trailers) {
        isSettled = true
        read.trailers = trailers
      },
      upgrade({ status, headers }) {
        isSettled = true
        Object.assign(read, { status, headers, isUpgrade: true })
      },
      error({ message }) {
        isSettled = true
        read.problem = message
      },
    },
  )
  for (const piece of pieces) if (!socket.destroyed) socket.emit('data', piece)
  if (!isSettled) socket.emit('end')
  // Bytes behind a response that ended close its connection.
  if (socket.destroyed) read.reuse = null
  const written = socket.written
  socket.destroy()
  if (!isSettled) read.problem ??= 'no result'
  return { ...read, body: Buffer.concat(chunks).toString('latin1'), written }
}
