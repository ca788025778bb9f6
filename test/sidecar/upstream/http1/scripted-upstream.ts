import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** A server that writes exactly the given bytes, for any request. */
export type ScriptedUpstream = {
  readonly port: number
  /** What each connection received, latin-1. */
  readonly received: string[]
  readonly openConnections: number
  close(): Promise<void>
}

/** `script` is called for the first bytes of every request on a connection; `n` counts requests over all connections. */
export async function startScripted(
  script: (socket: Socket, n: number) => void | Promise<void>,
): Promise<ScriptedUpstream> {
  const received: string[] = []
  const sockets = new Set<Socket>()
  let requests = 0
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    const mine = received.push('') - 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.on('end', () => socket.end())
    socket.on('data', (chunk: Buffer) => {
      received[mine] += chunk.toString('latin1')
      if (chunk.includes(' HTTP/1.1\r\n')) void script(socket, requests++)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    received,
    get openConnections() {
      return sockets.size
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Writes `bytes` in pieces that end at `cuts`, each in a write of its own, then ends if requested. */
export async function writeInPieces(
  socket: Socket,
  bytes: Buffer,
  { cuts, isLast }: { readonly cuts: readonly number[]; readonly isLast: boolean },
): Promise<void> {
  const ends = [...new Set(cuts.map((cut) => cut % bytes.length)), bytes.length].sort((a, b) => a - b)
  let at = 0
  for (const end of ends) {
    if (end > at && socket.writable) socket.write(bytes.subarray(at, end))
    at = Math.max(at, end)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (isLast) socket.end()
}
