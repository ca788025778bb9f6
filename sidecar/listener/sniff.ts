import type { Socket } from 'node:net'
import { readClientHello } from '../tls/client-hello.ts'
import type { ConnectionDeadline } from './connection-deadline.ts'

/** Protocol of a new byte stream, with the bytes read to detect it. */
export type Sniffed =
  | { readonly protocol: 'tls'; readonly bytes: Buffer; readonly serverName: string | null }
  | { readonly protocol: 'h2' | 'http1'; readonly bytes: Buffer }
  /** Result when the stream ended, or the timeout expired, before the protocol was detected. */
  | { readonly protocol: 'none'; readonly bytes: Buffer; readonly detail: string }

/**
 * Timeouts in milliseconds: `idleTimeoutMs` for the first byte, `headTimeoutMs` for the further bytes that the
 * detection needs.
 */
type Timeouts = { readonly idleTimeoutMs: number; readonly headTimeoutMs: number }

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const TLS_HANDSHAKE = 22

/**
 * Reads from the stream until the protocol is detected, then pauses the stream and calls `found` once. The caller must
 * unshift or parse the bytes that were read.
 */
export function sniff(
  socket: Socket,
  deadline: ConnectionDeadline,
  limits: Timeouts,
  found: (what: Sniffed) => void,
): void {
  let bytes: Buffer = Buffer.alloc(0)
  const tooSlow = (): void =>
    finish({
      protocol: 'none',
      bytes,
      detail:
        'the client did not send a complete TLS ClientHello or the beginning of an HTTP request in time',
    })

  const onData = (chunk: Buffer): void => {
    const isFirst = bytes.length === 0
    bytes = isFirst ? chunk : Buffer.concat([bytes, chunk])
    const what = recognise(bytes)
    if (what !== null) finish(what)
    else if (isFirst) deadline.arm(limits.headTimeoutMs, tooSlow)
  }
  const onEnd = (): void => finish({ protocol: 'none', bytes, detail: 'the client closed the connection' })

  function finish(what: Sniffed): void {
    socket.removeListener('data', onData)
    socket.removeListener('end', onEnd)
    socket.removeListener('close', onEnd)
    socket.pause()
    deadline.disarm()
    found(what)
  }

  socket.on('data', onData)
  socket.on('end', onEnd)
  socket.on('close', onEnd)
  deadline.arm(limits.idleTimeoutMs, tooSlow)
  socket.resume()
}

function recognise(bytes: Buffer): Sniffed | null {
  if (bytes[0] === TLS_HANDSHAKE) return recogniseTls(bytes)
  const shared = Math.min(bytes.length, PREFACE.length)
  if (bytes.compare(PREFACE, 0, shared, 0, shared) !== 0) return { protocol: 'http1', bytes }
  return shared < PREFACE.length ? null : { protocol: 'h2', bytes }
}

function recogniseTls(bytes: Buffer): Sniffed | null {
  const hello = readClientHello(bytes)
  if (hello.kind === 'incomplete') return null
  return { protocol: 'tls', bytes, serverName: hello.kind === 'hello' ? hello.serverName : null }
}
