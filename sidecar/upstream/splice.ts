import type { Duplex } from 'node:stream'
import type { ExchangeSignal } from '../pipeline/exchange-abort.ts'
import type { IdleWatch, Watched } from './idle.ts'

export type SpliceCounts = { up: number; down: number }

export type SpliceOptions = {
  readonly client: Duplex
  readonly upstream: Duplex
  readonly signal: ExchangeSignal
  readonly idle: IdleWatch
  /** Filled while bytes pass, so that the record has them however the tunnel ends. */
  readonly counts: SpliceCounts
}

/** How a tunnel ended: both sides closed, the exchange was aborted, or nothing moved for the idle limit. */
export type SpliceEnd = 'closed' | 'aborted' | 'idle'

/** Joins two raw streams with back-pressure and half-close until both are closed. Never rejects. */
export function splice({ client, upstream, signal, idle, counts }: SpliceOptions): Promise<SpliceEnd> {
  return new Promise((resolve) => {
    let how: SpliceEnd = 'closed'
    let open = 2
    const cut = (why: SpliceEnd) => {
      how = why
      client.destroy()
      upstream.destroy()
    }
    const watched: Watched = { quiet: 0, onIdle: () => cut('idle') }
    const seat = idle.add(watched)
    const onAbort = () => cut('aborted')
    const onClosed = () => {
      open -= 1
      if (open > 0) return
      idle.remove(seat)
      signal.removeEventListener('abort', onAbort)
      resolve(how)
    }
    relay(client, upstream, (bytes) => {
      counts.up += bytes
      watched.quiet = 0
    })
    relay(upstream, client, (bytes) => {
      counts.down += bytes
      watched.quiet = 0
    })
    whenClosed(client, onClosed)
    whenClosed(upstream, onClosed)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}

function relay(from: Duplex, to: Duplex, count: (bytes: number) => void): void {
  from.on('data', (chunk: Buffer) => {
    count(chunk.length)
    if (!to.destroyed && !to.writableEnded && !to.write(chunk)) from.pause()
  })
  to.on('drain', () => from.resume())
  from.on('end', () => {
    if (!to.destroyed) to.end()
  })
  from.on('error', () => to.destroy())
  // A side that is gone can take nothing more: the other one may flush what it has, then it goes too.
  from.on('close', () => {
    if (to.writableFinished || to.destroyed) to.destroy()
    else to.end(() => to.destroy())
  })
  from.resume()
}

function whenClosed(stream: Duplex, onClosed: () => void): void {
  if (stream.closed) onClosed()
  else stream.once('close', onClosed)
}
