import type { Duplex } from 'node:stream'
import type { ExchangeSignal } from '../exchange-abort.ts'
import type { IdleWatch, Watched } from '../response/idle.ts'

export type SpliceCounts = { up: number; down: number }

export type SpliceOptions = {
  readonly client: Duplex
  readonly upstream: Duplex
  readonly signal: ExchangeSignal
  readonly idle: IdleWatch
  /** Check of the client's first bytes, before any of them is sent upstream; absent for no check. */
  readonly gate?: ClientGate | undefined
  /** Byte counts, which are updated with every chunk, so that the record has them regardless of how the tunnel ends. */
  readonly counts: SpliceCounts
}

export type ClientGate = {
  /**
   * True when the client must send first. The timeout of the check then starts immediately. Otherwise the timeout
   * starts with the first byte of the client.
   */
  readonly isClientFirst: boolean
  /** Time limit in milliseconds within which the first bytes of the client must suffice for the check. */
  readonly timeoutMs: number
  readonly judge: (bytes: Buffer) => 'more' | 'pass' | 'refuse'
}

/**
 * Cause of the end of a tunnel: both sides closed, the exchange was aborted, no byte passed within the idle limit, or
 * the check refused the first bytes.
 */
export type SpliceEnd = 'closed' | 'aborted' | 'idle' | 'refused'

/** Joins two raw streams with back-pressure and half-close until both are closed. Never rejects. */
export function splice(options: SpliceOptions): Promise<SpliceEnd> {
  const { client, upstream, signal, idle, counts } = options
  return new Promise((resolve) => {
    let how: SpliceEnd = 'closed'
    let open = 2
    const cut = (why: SpliceEnd) => {
      // Destroying the client also aborts the exchange, so only the first cause is kept.
      if (how === 'closed') how = why
      client.destroy()
      upstream.destroy()
    }
    const watched: Watched = { quiet: 0, onIdle: () => cut('idle') }
    const handle = idle.add(watched)
    const onAbort = () => cut('aborted')
    const onClosed = () => {
      open -= 1
      if (open > 0) return
      idle.remove(handle)
      signal.removeEventListener('abort', onAbort)
      resolve(how)
    }
    const countUp = (bytes: number): void => {
      counts.up += bytes
      watched.quiet = 0
    }
    admit(client, options.gate, {
      refuse: () => cut('refused'),
      leave: () => {
        upstream.end()
        if (client.destroyed) upstream.destroy()
        else client.once('close', () => upstream.destroy())
      },
      pass: (held) => {
        if (held !== null) {
          countUp(held.length)
          upstream.write(held)
        }
        relay(client, upstream, countUp)
      },
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

type Admission = {
  readonly pass: (held: Buffer | null) => void
  readonly refuse: () => void
  /** Called when the client ended its side without sending a byte. */
  readonly leave: () => void
}

/** Holds back the client's bytes until the check of the first bytes has passed. */
function admit(client: Duplex, gate: ClientGate | undefined, { pass, refuse, leave }: Admission): void {
  if (gate === undefined) {
    pass(null)
    return
  }
  let held: Buffer = Buffer.alloc(0)
  let timer: NodeJS.Timeout | null = null
  const arm = (): void => {
    timer ??= setTimeout(() => finish(refuse), gate.timeoutMs)
  }
  const finish = (then: () => void): void => {
    if (timer !== null) clearTimeout(timer)
    client.off('data', onData).off('end', onEnd).off('close', onEnd)
    client.pause()
    then()
  }
  const onData = (chunk: Buffer): void => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    const verdict = gate.judge(held)
    if (verdict === 'more') arm()
    else finish(verdict === 'pass' ? () => pass(held) : refuse)
  }
  const onEnd = (): void => finish(held.length > 0 ? refuse : leave)
  client
    .on('data', onData)
    .on('end', onEnd)
    .on('close', onEnd)
    .on('error', () => client.destroy())
  if (gate.isClientFirst) arm()
  client.resume()
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
  // When one side has closed, the other side flushes its data and is then closed.
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
