import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2'
import type { Socket } from 'node:net'
import { answersPing } from '../../http/http2-ping.ts'
import type { UpstreamTarget } from '../target.ts'

/** A stream that was opened on a session. `cancel` resets it immediately. */
export type OpenedStream = {
  readonly stream: ClientHttp2Stream
  readonly cancel: () => void
  /** Resolves with true when the server answers a ping. */
  readonly isThere: () => Promise<boolean>
}

const WINDOW_BYTES = 256 * 1024
/**
 * Flow-control window of a session in bytes. A large window needs no memory, because nghttp2 acknowledges received data
 * immediately and each stream has its own limit.
 */
const SESSION_WINDOW_BYTES = 16 * 1024 * 1024
/** Time in milliseconds that a server has to answer a ping during a silent call. */
const THERE_MS = 5_000
/**
 * Maximum number of concurrent streams, even if the server allows more: a lost packet delays all streams of a
 * connection.
 */
const MAX_STREAMS = 100

const OPTIONS = {
  settings: { enablePush: false, initialWindowSize: WINDOW_BYTES, maxHeaderListSize: 256 * 1024 },
  maxHeaderListPairs: 1_024,
  maxSettings: 32,
  maxSessionMemory: 64,
  strictSingleValueFields: false,
}

/**
 * One HTTP/2 connection to an upstream. The session accepts calls until it is full, has received GOAWAY, has failed, or
 * was retired. Calls in progress then continue where the connection allows it.
 */
export class UpstreamSession {
  /** Number of calls in progress. */
  calls = 0
  /** Number of pool sweeps (one a second) since the last response, trailer or ping answer of the server. */
  quiet = 0
  /** Number of pool sweeps (one a second) since the session was opened. */
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
   * Opens a session. Resolves when the SETTINGS of the server have arrived, and rejects when they do not. SETTINGS
   * contain the limit of concurrent streams, and prove before a credential is sent that the server supports HTTP/2.
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
    // HTTP/2 cannot use a half-closed connection, and the sockets of the dialer allow half-open connections.
    socket.once('end', () => session.destroy())
    session.once('connect', () => session.setLocalWindowSize(SESSION_WINDOW_BYTES))
    return new Promise((resolve, reject) => {
      let failure = new Error('the server closed the connection before it sent HTTP/2 settings')
      const onEarlyClose = (): void => {
        clearTimeout(timer)
        reject(failure)
      }
      const timer = setTimeout(() => {
        failure = new Error('the server sent no HTTP/2 settings in time')
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

  /** Opens a stream. Returns null, and sends nothing, when the session is full or closing. */
  begin(fields: readonly string[], hasBody: boolean): OpenedStream | null {
    if (this.isOver || this.isFull) return null
    // `close` would end the request body normally, and the server could treat the body as complete. An abort resets the
    // stream.
    const reset = new AbortController()
    const options = { endStream: !hasBody, signal: reset.signal }
    const stream = this.#session.request([...fields], options)
    this.calls += 1
    stream.once('close', () => {
      this.calls -= 1
    })
    // The end of a stream does not prove that the server responds, because the streams of abandoned calls end too.
    const onHeard = (): void => {
      this.quiet = 0
    }
    stream.on('response', onHeard).on('trailers', onHeard)
    return { stream, cancel: () => reset.abort(), isThere: () => this.probe(THERE_MS) }
  }

  /** Pings the server. Resolves with true when the server answers within `timeoutMs`. */
  async probe(timeoutMs: number): Promise<boolean> {
    const isThere = await answersPing(this.#session, timeoutMs)
    if (isThere) this.quiet = 0
    return isThere
  }

  /** Makes the session accept no new calls, and closes it after the last call in progress. */
  retire(): void {
    this.#isRetired = true
    if (!this.#session.destroyed) this.#session.close()
  }

  /** Destroys the session and all calls on it. */
  destroy(): void {
    this.#isRetired = true
    this.#session.destroy()
    this.#socket.destroy()
  }
}
