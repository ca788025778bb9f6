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

/** Terminates TLS on a stream whose first bytes were already read. Calls `done` once. */
export function terminateTls(
  stream: Socket,
  first: Buffer,
  options: TlsOptions,
  done: (r: TlsResult) => void,
): void {
  // TLSSocket reads only the bytes that the stream has buffered when the TLSSocket is created.
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
  // A TLSSocket without a tls.Server emits protocol errors only as `_tlsError`, and does not close.
  socket.on('_tlsError', (error: Error) => {
    failure = error.message
    socket.destroy()
  })
  // The sockets allow half-open connections, but a handshake cannot continue after the client has ended its side.
  const onEnd = (): void => void socket.destroy()
  socket.once('end', onEnd)
  socket.once('close', () => finish({ kind: 'failed', detail: failure }))
  socket.once('secure', () => {
    // `secureConnecting` is cleared here, as a tls.Server does on its own sockets: an HTTP/2 session waits until it is
    // false.
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
    failure = `the handshake took longer than ${options.timeoutMs} ms`
    socket.destroy()
    stream.destroy()
  })
}

function serverNameOf(socket: TLSSocket): string | null {
  const name: unknown = Reflect.get(socket, 'servername')
  return typeof name === 'string' && name !== '' ? name : null
}
