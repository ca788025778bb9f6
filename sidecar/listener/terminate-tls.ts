import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import type { ConnectionDeadline } from './connection-deadline.ts'

export type TlsOptions = {
  readonly context: SecureContext
  readonly protocols: readonly string[]
  readonly deadline: ConnectionDeadline
  readonly timeoutMs: number
}

export type TlsResult =
  | {
      readonly kind: 'secure'
      readonly socket: TLSSocket
      readonly isHttp2: boolean
      readonly serverName: string | null
    }
  | { readonly kind: 'failed'; readonly detail: string }

/** Speaks TLS as the server on a stream whose first bytes were already read. Calls `done` exactly once. */
export function terminateTls(
  stream: Socket,
  first: Buffer,
  options: TlsOptions,
  done: (r: TlsResult) => void,
): void {
  // TLSSocket takes over bytes that the stream has buffered at its construction only.
  stream.unshift(first)
  const socket = new TLSSocket(stream, {
    isServer: true,
    secureContext: options.context,
    ALPNProtocols: [...options.protocols],
  })
  let isDone = false
  let failure = 'the client closed the connection'

  function finish(result: TlsResult): void {
    if (isDone) return
    isDone = true
    options.deadline.disarm()
    done(result)
  }

  socket.on('error', (error: Error) => (failure = error.message))
  // A TLSSocket without a tls.Server reports errors of the protocol under this name only, and goes on.
  socket.on('_tlsError', (error: Error) => {
    failure = error.message
    socket.destroy()
  })
  // Half-open streams are ours to close; a handshake cannot go on with half of one.
  const onEnd = (): void => void socket.destroy()
  socket.once('end', onEnd)
  socket.once('close', () => finish({ kind: 'failed', detail: failure }))
  socket.once('secure', () => {
    // tls.Server does this for its own sockets; an HTTP/2 session waits for it.
    socket.removeListener('end', onEnd)
    Reflect.set(socket, 'secureConnecting', false)
    finish({
      kind: 'secure',
      socket,
      isHttp2: socket.alpnProtocol === 'h2',
      serverName: serverNameOf(socket),
    })
  })
  options.deadline.arm(options.timeoutMs, () => {
    failure = `it took longer than ${options.timeoutMs} ms`
    socket.destroy()
    stream.destroy()
  })
}

function serverNameOf(socket: TLSSocket): string | null {
  const name: unknown = Reflect.get(socket, 'servername')
  return typeof name === 'string' && name !== '' ? name : null
}
