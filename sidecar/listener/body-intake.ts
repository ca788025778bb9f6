import { Readable } from 'node:stream'
import { addChunk } from '../collections/chunk-list.ts'
import type { RequestBody } from '../pipeline/request-body.ts'

/** Flow control of the connection that carries a request body. */
export type BodySource = {
  /** Resumes reading. Sends 100-continue first if the client waits for it. */
  want(): void
  /** Pauses reading, because no reader consumes the bytes. */
  hold(): void
}

/** Maximum number of buffered body bytes while nothing reads the body. Beyond the limit the connection is paused. */
const READ_AHEAD_BYTES = 64 * 1024
/**
 * Size of a stream's buffer in bytes. A small buffer would be slow, because each pause and resume of an upload costs a
 * turn of the event loop.
 */
const STREAM_BUFFER_BYTES = 256 * 1024

type Waiter = {
  readonly limit: number
  /** Scan function of `RequestBody.peek`; absent for `buffer`. */
  readonly scan?: (bytes: Buffer) => number
  /** Number of bytes that the next call of `scan` needs. */
  wanted: number
  readonly resolve: (body: Buffer | null) => void
  readonly reject: (error: Error) => void
}

/** Buffers a request body while it arrives. A small body that is complete before it is read needs no stream. */
export class BodyIntake implements RequestBody {
  readonly isEmpty = false
  bytesIn = 0
  readonly #source: BodySource
  readonly #declared: number | null
  #chunks: Buffer[] = []
  #queued = 0
  /**
   * Preallocated buffer for a body of declared length. Chunks are copied into it, so the body is in memory only once.
   */
  #room: Buffer | null = null
  #isComplete = false
  #isDiscarding = false
  #error: Error | null = null
  #waiter: Waiter | null = null
  #stream: BodyStream | null = null

  /**
   * Creates the intake. `declared` is the body length in bytes; null when the length is unknown until the body ends
   * (chunked).
   */
  constructor(source: BodySource, declared: number | null) {
    this.#source = source
    this.#declared = declared
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  arrived(): Buffer | null {
    return this.#isComplete && this.#error === null && this.#stream === null ? this.#whole() : null
  }

  buffer(limit: number): Promise<Buffer | null> {
    if (this.#error !== null) return Promise.reject(this.#error)
    if (this.#queued > limit || (this.#declared ?? 0) > limit) return Promise.resolve(null)
    if (this.#isComplete) return Promise.resolve(this.#whole())
    if (this.#waiter !== null || this.#stream !== null) {
      return Promise.reject(new Error('the request body is already being read'))
    }
    this.#makeRoom()
    return new Promise((resolve, reject) => {
      this.#waiter = { limit, wanted: 0, resolve, reject }
      this.#source.want()
    })
  }

  peek(limit: number, scan: (bytes: Buffer) => number): Promise<Buffer> {
    if (this.#error !== null) return Promise.reject(this.#error)
    if (this.#isComplete || this.#queued >= limit) return Promise.resolve(this.#whole())
    const wanted = scan(this.#whole())
    if (wanted <= this.#queued) return Promise.resolve(this.#whole())
    if (this.#waiter !== null || this.#stream !== null) {
      return Promise.reject(new Error('the request body is already being read'))
    }
    return new Promise((resolve, reject) => {
      this.#waiter = { limit, scan, wanted, resolve: (bytes) => resolve(bytes ?? NOTHING), reject }
      this.#source.want()
    })
  }

  endsWithin(ms: number, limit: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiter = null
        if (this.#queued >= READ_AHEAD_BYTES) this.#source.hold()
        resolve(false)
      }, ms)
      const settled = this.buffer(limit).then(() => resolve(true), reject)
      void settled.then(() => clearTimeout(timer))
    })
  }

  forward(): Buffer | Readable {
    if (this.#stream !== null) return this.#stream
    if (this.#isComplete && this.#error === null) return this.#whole()
    const stream = new BodyStream(this, this.#source)
    this.#stream = stream
    for (const chunk of this.#chunks) stream.push(chunk)
    this.#chunks = []
    this.#queued = 0
    if (this.#error !== null) stream.destroy(this.#error)
    else this.#source.want()
    return stream
  }

  push(chunk: Buffer): void {
    this.bytesIn += chunk.length
    if (this.#isDiscarding) return
    if (this.#stream !== null) {
      if (!this.#stream.push(chunk)) this.#source.hold()
      return
    }
    this.#store(chunk)
    this.#queued += chunk.length
    this.#notifyWaiter()
    if (this.#waiter === null && this.#queued >= READ_AHEAD_BYTES) this.#source.hold()
  }

  /** Allocates a buffer of the declared length. The kernel commits memory only for pages that are written. */
  #makeRoom(): void {
    if (this.#declared === null || this.#declared <= READ_AHEAD_BYTES || this.#queued > this.#declared) return
    this.#room = Buffer.allocUnsafeSlow(this.#declared)
    this.#room.set(this.#whole())
    this.#chunks = [this.#room.subarray(0, this.#queued)]
  }

  #store(chunk: Buffer): void {
    const room = this.#room
    if (room === null || this.#queued + chunk.length > room.length) {
      addChunk(this.#chunks, chunk)
      return
    }
    room.set(chunk, this.#queued)
    this.#chunks = [room.subarray(0, this.#queued + chunk.length)]
  }

  complete(): void {
    this.#isComplete = true
    if (!this.#isDiscarding) this.#stream?.push(null)
    this.#settle((waiter) => waiter.resolve(this.#whole()))
  }

  /** Fails the body, because the client disconnected or broke the framing. */
  fail(error: Error): void {
    if (this.#isComplete || this.#error !== null) return
    this.#error = error
    this.#stream?.destroy(error)
    this.#settle((waiter) => waiter.reject(error))
  }

  release(): void {
    if (!this.#isComplete) return
    this.#chunks = []
    this.#room = null
    this.#queued = 0
  }

  /** Reads and discards the rest of the body, so that the connection can be reused. */
  discard(): void {
    this.#isDiscarding = true
    this.#chunks = []
    this.#queued = 0
    if (!this.#isComplete) this.#source.want()
  }

  /**
   * Resolves the waiting reader when its condition is met. `buffer` resolves with null when more than `limit` bytes
   * have arrived. `peek` resolves at the latest when `limit` bytes have arrived.
   */
  #notifyWaiter(): void {
    const waiter = this.#waiter
    if (waiter === null) return
    if (waiter.scan === undefined) {
      if (this.#queued > waiter.limit) this.#settle(({ resolve }) => resolve(null))
      return
    }
    if (this.#queued < waiter.limit && this.#queued >= waiter.wanted)
      waiter.wanted = waiter.scan(this.#whole())
    if (this.#queued >= Math.min(waiter.limit, waiter.wanted))
      this.#settle(({ resolve }) => resolve(this.#whole()))
  }

  #whole(): Buffer {
    const [only] = this.#chunks
    if (this.#chunks.length === 1 && only !== undefined) return only
    const whole = Buffer.concat(this.#chunks)
    this.#chunks = [whole]
    return whole
  }

  #settle(tell: (waiter: Waiter) => void): void {
    const waiter = this.#waiter
    this.#waiter = null
    if (waiter !== null) tell(waiter)
  }
}

class BodyStream extends Readable {
  readonly #intake: BodyIntake
  readonly #source: BodySource

  constructor(intake: BodyIntake, source: BodySource) {
    super({ highWaterMark: STREAM_BUFFER_BYTES })
    this.#intake = intake
    this.#source = source
    // The stream may fail before the forwarding code attaches its listener. An unhandled `error` event would end the
    // process.
    this.on('error', ignore)
  }

  override _read(): void {
    if (!this.#intake.isComplete) this.#source.want()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#intake.isComplete) this.#intake.discard()
    callback(error)
  }
}

function ignore(): void {}

const NOTHING = Buffer.alloc(0)

/** Body object of requests without a body. */
export const EMPTY_BODY: RequestBody = {
  isEmpty: true,
  bytesIn: 0,
  arrived: () => NOTHING,
  buffer: () => Promise.resolve(NOTHING),
  peek: () => Promise.resolve(NOTHING),
  endsWithin: () => Promise.resolve(true),
  forward: () => null,
  release: ignore,
}
