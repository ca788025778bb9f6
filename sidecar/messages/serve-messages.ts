import type { Duplex } from 'node:stream'
import type { MessageProtocol } from '../../core/connectors/message-protocol.ts'
import type { InnerExchanges } from '../pipeline/inner-exchanges.ts'
import type { Answered } from '../pipeline/phases.ts'
import type { IdleWatch, Watched } from '../pipeline/response/idle.ts'
import type { SpliceCounts, SpliceEnd } from '../pipeline/tunnel/splice.ts'
import { MessageSocket } from './message-socket.ts'

export type Served = {
  readonly opening: Answered
  readonly inner: InnerExchanges
  readonly protocol: MessageProtocol
  readonly client: Duplex
  readonly upstream: Duplex
  /** Byte counts of both directions, updated as bytes are transferred. */
  readonly counts: SpliceCounts
}

export type ServeMessages = (served: Served) => Promise<SpliceEnd>

/**
 * Relays messages between a client and an upstream until both are closed and every message has its record. Never
 * rejects.
 */
export function createServeMessages(idle: IdleWatch): ServeMessages {
  return async ({ opening, inner, protocol, client, upstream, counts }) => {
    let how: SpliceEnd = 'closed'
    const cut = (why: SpliceEnd) => {
      if (how === 'closed') how = why
      client.destroy()
      upstream.destroy()
    }
    const watched: Watched = {
      quiet: 0,
      onIdle() {
        if (socket.isHeld) watched.quiet = 0
        else cut('idle')
      },
    }
    const socket = new MessageSocket({
      opening,
      inner,
      protocol,
      client,
      upstream,
      moved(direction, bytes) {
        counts[direction] += bytes
        watched.quiet = 0
      },
      cut: () => cut('closed'),
    })
    const handle = idle.add(watched)
    const { signal } = opening.abort
    const onAbort = () => cut('aborted')
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    await Promise.all([serveClient(client, upstream, socket), serveUpstream(upstream, client, socket)])
    idle.remove(handle)
    signal.removeEventListener('abort', onAbort)
    return how
  }
}

async function serveClient(client: Duplex, upstream: Duplex, socket: MessageSocket): Promise<void> {
  const ended = once(client, (chunk) => socket.fromClient(chunk))
  await ended
  await socket.end('client')
  if (!upstream.destroyed) upstream.end()
  await closed(client)
}

async function serveUpstream(upstream: Duplex, client: Duplex, socket: MessageSocket): Promise<void> {
  await once(upstream, (chunk) => socket.fromUpstream(chunk))
  // The client is still connected, so it receives the refusals of messages in flight.
  await socket.end('upstream')
  if (!client.destroyed) client.end()
  await closed(upstream)
}

/** Resolves when the stream has ended or is closed. */
function once(stream: Duplex, onData: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve) => {
    stream.on('error', () => stream.destroy())
    stream.on('data', onData)
    stream.once('end', () => resolve())
    if (stream.closed) resolve()
    else stream.once('close', () => resolve())
    stream.resume()
  })
}

function closed(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (stream.closed) resolve()
    else stream.once('close', () => resolve())
  })
}
