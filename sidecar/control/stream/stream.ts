import type { BackOff } from '../../../core/state/back-off.ts'
import type { Clock } from '../../../core/state/clock.ts'
import { sleep } from '../../../runtime/sleep.ts'
import type { Log } from '../../process/log.ts'
import { createControlBackOff } from '../back-off.ts'
import type { ControlClient } from '../client/client.ts'
import { createDeferredHandlers, type GatewayHandlers } from './deferred-handlers.ts'
import { createHeartbeatCheck, type HeartbeatCheck } from './heartbeat-check.ts'
import { type Heartbeats, LATE_MS } from './heartbeats.ts'
import type { Message, MessageDispatcherDeps } from './message-dispatcher.ts'
import { openSession, type Session, StreamDeferred } from './session.ts'

export type StreamDeps = {
  readonly client: Pick<ControlClient, 'open' | 'renew'>
  readonly controlPlaneUrl: string
  readonly handlers: GatewayHandlers
  readonly heartbeats: Heartbeats
  readonly clock: Clock
  readonly random: () => number
  readonly log: MessageDispatcherDeps['log'] & Pick<Log, 'info'>
  readonly times?: Partial<StreamTimes>
}

export type StreamTimes = {
  /** Milliseconds without a heartbeat after which the search for another replica starts. */
  readonly silenceMs: number
  /**
   * Time limit in milliseconds for the first heartbeat of a replica, while the replica in use sends none. A replica
   * sends a heartbeat with its `hello`.
   */
  readonly firstBeatMs: number
  /** Milliseconds of the first pause before an attempt to find another replica. */
  readonly firstSearchMs: number
  readonly searchMs: number
}

const TIMES: StreamTimes = { silenceMs: LATE_MS, firstBeatMs: 6_000, firstSearchMs: 5_000, searchMs: 30_000 }
/**
 * Delay in milliseconds of the reconnect when a replica shuts down. A short delay suffices, because another replica is
 * available.
 */
const LEAVE_MS = 20

type Stream = Session & {
  readonly hello: () => Message<'hello'> | null
  /** Makes this stream the one in use, so that all of its messages are handled. */
  promote(): void
  /** Returns true when the replica has announced its shutdown by `goaway`. */
  readonly isLeaving: () => boolean
}

/**
 * Keeps one stream of the control plane in use and reconnects with jitter. A replica that cannot read the database
 * sends no heartbeats, but it can still deliver a kill switch. A stream without heartbeats is therefore kept while a
 * second stream is opened, possibly to another replica, and is replaced only by a stream with heartbeats.
 */
export class ControlStream {
  readonly #deps: StreamDeps
  readonly #times: StreamTimes
  readonly #closed = new AbortController()
  readonly #backoff: BackOff
  /**
   * Back-off of the search for another replica. It limits the load on the replicas, because all gateways search at the
   * same time when the database fails.
   */
  readonly #searches: BackOff
  #search = new AbortController()
  #current: Stream | null = null
  #candidate: Stream | null = null
  #silence: NodeJS.Timeout | undefined
  #lastProblem = ''

  constructor(deps: StreamDeps) {
    this.#deps = deps
    this.#times = { ...TIMES, ...deps.times }
    this.#backoff = createControlBackOff(deps.random)
    this.#searches = createControlBackOff(deps.random, this.#times.firstSearchMs / 2, this.#times.searchMs)
  }

  /** Reason why the last attempt to connect failed, or why the last stream ended; null while a stream is open. */
  get problem(): string | null {
    return this.#lastProblem || null
  }

  start(): void {
    void this.#run()
  }

  close(): void {
    this.#closed.abort()
    clearTimeout(this.#silence)
    for (const stream of [this.#current, this.#candidate]) stream?.close()
  }

  async #run(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      const stream = this.#current ?? this.#openCurrent()
      const reason = await stream.ended
      // The end of this stream has no effect when another stream has replaced it.
      if (this.#current === stream) await this.#lost(stream, reason)
    }
  }

  #openCurrent(): Stream {
    const stream = this.#open()
    this.#current = stream
    stream.promote()
    this.#restartSilence()
    return stream
  }

  async #lost(stream: Stream, reason: unknown): Promise<void> {
    this.#logProblem(reason, stream)
    // When a process opens a second stream to the same replica, the replica ends the older stream. The second stream
    // (`#candidate`) then becomes the stream in use.
    const next = this.#candidate?.isEnded === false ? this.#candidate : null
    if (next?.isOpen !== true) this.#deps.heartbeats.disconnected()
    if (next !== null) return this.#take(next)
    this.#current = null
    this.#search.abort()
    const pauseMs = stream.isLeaving() ? LEAVE_MS : this.#backoff.next()
    await sleep(Math.max(pauseMs, this.#deferralMs(reason)), this.#closed.signal)
  }

  /**
   * Returns the wait in milliseconds that the control plane demands by `Retry-After`; 0 without a demand. Jitter of a
   * second spreads the gateways that got the same whole number of seconds.
   */
  #deferralMs(reason: unknown): number {
    if (!(reason instanceof StreamDeferred)) return 0
    return (reason.retryAfterS + this.#deps.random()) * 1_000
  }

  #open(): Stream {
    let hello: Message<'hello'> | null = null
    let check: HeartbeatCheck | null = null
    let isLeaving = false
    let killSeq = Number.NEGATIVE_INFINITY
    const handlers = createDeferredHandlers(this.#deps.handlers)
    const session = openSession(this.#deps, {
      ...handlers,
      hello: (message) => {
        hello = message
        check = createHeartbeatCheck(this.#deps.clock, message.at)
        if (stream === this.#current) this.#connected(message)
        handlers.hello(message)
      },
      beat: ({ until }) => {
        if (check?.counts(until) === true) this.#beat(stream)
      },
      kill: (message) => {
        // Sequence numbers are compared within one stream only, because each replica has its own numbering.
        if (message.seq < killSeq) return
        killSeq = message.seq
        handlers.kill(message)
      },
      goaway: (message) => {
        isLeaving = true
        setTimeout(() => stream.close(), this.#deps.random() * message.after_ms).unref()
      },
    })
    const stream: Stream = {
      ended: session.ended,
      get isOpen() {
        return session.isOpen
      },
      get isEnded() {
        return session.isEnded
      },
      close: session.close,
      hello: () => hello,
      promote: handlers.promote,
      isLeaving: () => isLeaving,
    }
    return stream
  }

  #beat(stream: Stream): void {
    if (stream === this.#candidate) this.#take(stream)
    if (stream !== this.#current) return
    this.#restartSilence()
    this.#search.abort()
    this.#searches.reset()
    this.#deps.heartbeats.received()
  }

  #connected({ gateway, protocol, version }: Message<'hello'>): void {
    const { client, heartbeats, log, controlPlaneUrl } = this.#deps
    this.#backoff.reset()
    this.#lastProblem = ''
    // The open connections for calls may still lead to the previous replica.
    client.renew()
    heartbeats.connected()
    log.info(
      { gateway: gateway.name, controlPlane: controlPlaneUrl, protocol, version },
      'control plane connected',
    )
  }

  /** Makes `stream` the stream in use, and closes the stream that was in use before. */
  #take(stream: Stream): void {
    const before = this.#current
    this.#current = stream
    this.#candidate = null
    const hello = stream.hello()
    if (hello !== null) this.#connected(hello)
    stream.promote()
    before?.close()
  }

  #restartSilence(): void {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => void this.#searchReplica(), this.#times.silenceMs).unref()
  }

  /** Opens streams beside the one in use, one at a time, until one of them or the stream in use sends heartbeats. */
  async #searchReplica(): Promise<void> {
    if (this.#current === null) return
    if (!this.#current.isOpen)
      return this.#current.close(new Error('the control plane sent no heartbeat in time'))
    const { log, controlPlaneUrl } = this.#deps
    log.warn({ controlPlane: controlPlaneUrl }, 'control plane sends no heartbeats; trying another replica')
    this.#search = new AbortController()
    const signal = AbortSignal.any([this.#search.signal, this.#closed.signal])
    let deferralMs = 0
    while (!signal.aborted) {
      await sleep(Math.max(this.#searches.next(), deferralMs), signal)
      if (!signal.aborted) deferralMs = this.#deferralMs(await this.#tryAnother(signal))
    }
  }

  /**
   * Opens a second stream and waits for its first heartbeat. Returns the reason if that stream ended; otherwise
   * undefined.
   */
  async #tryAnother(signal: AbortSignal): Promise<unknown> {
    const stream = this.#open()
    this.#candidate = stream
    const reason = await Promise.race([stream.ended, sleep(this.#times.firstBeatMs, signal)])
    if (stream !== this.#current) stream.close()
    if (this.#candidate === stream) this.#candidate = null
    return reason
  }

  /** Logs a problem unless it equals the last problem. `goaway` is not a problem. */
  #logProblem(err: unknown, stream: Stream): void {
    if (this.#closed.signal.aborted || stream.isLeaving()) return
    const { log, controlPlaneUrl } = this.#deps
    const problem = err instanceof Error ? err.message : String(err)
    if (problem !== this.#lastProblem)
      log.warn({ err, controlPlane: controlPlaneUrl }, 'control plane could not be connected')
    this.#lastProblem = problem
  }
}
