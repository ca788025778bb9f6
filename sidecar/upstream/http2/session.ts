import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import type { Socket } from 'node:net'
import { answersPing } from '../../http/http2-ping.ts'
import type { UpstreamTarget } from '../target.ts'

/** A stream that was handed to the upstream. `cancel` resets it at once. */
export type OpenedStream = {
  readonly stream: ClientHttp2Stream
  readonly cancel: () => void
  /** True once the server answers a ping. */
  readonly isThere: () => Promise<boolean>
}

const WINDOW_BYTES = 256 * 1024
/** The library gives back what it was sent at once and holds streams back one by one, so this costs no memory. */
const SESSION_WINDOW_BYTES = 16 * 1024 * 1024
/** A server that is asked in the middle of a silent call may take its time. */
const THERE_MS = 5_000
/** Streams at once where the server allows more: one lost packet holds up all that share a connection. */
const MAX_STREAMS = 100

const OPTIONS = {
  settings: { enablePush: false, initialWindowSize: WINDOW_BYTES, maxHeaderListSize: 256 * 1024 },
  maxHeaderListPairs: 1_024,
  maxSettings: 32,
  maxSessionMemory: 64,
  strictSingleValueFields: false,
}

/**
 * One HTTP/2 connection to an upstream. It takes calls until it is full, has been told to go (GOAWAY), has failed, or
 * was retired; calls that run on it are finished in any case that lets them.
 */
export class UpstreamSession {
  /** Calls in progress. */
  calls = 0
  /** Set to 0 whenever something was heard of the server; the pool counts it up. */
  quiet = 0
  /** Sweeps of the pool since it was opened. */
  age = 0
  readonly #session: ClientHttp2Session
  readonly #socket: Socket
  #isRetired = false

  private constructor(
    session: ClientHttp2Session,
    socket: Socket,
    onClosed: (session: UpstreamSession) => void,
  ) {
    this.#session = session
    this.#socket = socket
    session.on('goaway', () => this.retire())
    session.on('close', () => onClosed(this))
  }

  /**
   * Speaks first and waits for the server's settings: they say how many calls it takes, and that it speaks HTTP/2 at
   * all, before it is sent a credential. Rejects when it does not send them.
   */
  static open(
    socket: Socket,
    target: UpstreamTarget,
    options: { readonly timeoutMs: number; readonly onClosed: (session: UpstreamSession) => void },
  ): Promise<UpstreamSession> {
    const scheme = target.isTls ? 'https' : 'http'
    const session = connect(`${scheme}://${target.hostHeader}`, {
      ...OPTIONS,
      createConnection: () => socket,
    })
    // Half of an HTTP/2 connection is none, and the sockets of the dialler would stay half open.
    socket.once('end', () => session.destroy())
    session.once('connect', () => session.setLocalWindowSize(SESSION_WINDOW_BYTES))
    return new Promise((resolve, reject) => {
      let failure = new Error('it closed the connection instead of sending its settings')
      const onEarlyClose = (): void => {
        clearTimeout(timer)
        reject(failure)
      }
      const timer = setTimeout(() => {
        failure = new Error('it sent no settings')
        session.destroy()
        socket.destroy()
      }, options.timeoutMs)
      session.on('error', (error: Error) => {
        failure = error
      })
      session.once('close', onEarlyClose)
      session.once('remoteSettings', () => {
        clearTimeout(timer)
        session.removeListener('close', onEarlyClose)
        resolve(new UpstreamSession(session, socket, options.onClosed))
      })
    })
  }

  get isOver(): boolean {
    return this.#isRetired || this.#session.closed || this.#session.destroyed
  }

  get isFull(): boolean {
    const { maxConcurrentStreams = MAX_STREAMS } = this.#session.remoteSettings
    return this.calls >= Math.min(maxConcurrentStreams, MAX_STREAMS)
  }

  /** Null when the session could not take it: nothing was sent then. */
  begin(fields: readonly string[], hasBody: boolean): OpenedStream | null {
    if (this.isOver || this.isFull) return null
    // Closing a stream would first end its body in good order, which a server could take for all of it.
    const reset = new AbortController()
    const options = { endStream: !hasBody, signal: reset.signal }
    const stream = this.#session.request([...fields], options)
    this.calls += 1
    stream.once('close', () => {
      this.calls -= 1
    })
    // Not its end as well: a call that was given up says nothing of the server.
    const onHeard = (): void => {
      this.quiet = 0
    }
    stream.on('response', onHeard).on('trailers', onHeard)
    return { stream, cancel: () => reset.abort(), isThere: () => this.probe(THERE_MS) }
  }

  /** True once the server answers a ping; false when it does not in time. */
  async probe(timeoutMs: number): Promise<boolean> {
    const isThere = await answersPing(this.#session, timeoutMs)
    if (isThere) this.quiet = 0
    return isThere
  }

  /** No new calls; it closes behind the last one that runs. */
  retire(): void {
    this.#isRetired = true
    if (!this.#session.destroyed) this.#session.close()
  }

  /** Ends it and everything on it. */
  destroy(): void {
    this.#isRetired = true
    this.#session.destroy()
    this.#socket.destroy()
  }
}
