import type { Message, MessageProtocol } from '../../core/connectors/message-protocol.ts'
import { ChaperoneError } from '../../core/errors.ts'
import { isRefusal, type Refusal, refusal } from '../../core/request/canonical.ts'
import { runSliced } from '../../core/sliced.ts'
import { LIMITS } from '../../core/wire/schema/limits.ts'
import { SMALL_BYTES } from '../pipeline/body/body-reader.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { createExchangeAbort } from '../pipeline/exchange-abort.ts'
import type { InnerExchanges } from '../pipeline/inner-exchanges.ts'
import { ClientFrames } from './client-frames.ts'

export type MessageIntakeDeps = {
  readonly opening: Exchange
  readonly inner: Pick<InnerExchanges, 'room' | 'runSliced'>
  readonly protocol: Pick<MessageProtocol, 'read'>
  /**
   * Returns true while the decision about the previous message is pending, and while the WebSocket closes. `next` is
   * called after the decision.
   */
  readonly isBusy: () => boolean
  /**
   * Called with a complete message. The receiver must call `release` once, which returns the bytes of the message to
   * the budget of buffered bodies.
   */
  readonly serve: (message: IncomingMessage, release: () => void) => void
  readonly control: (opcode: number, payload: Buffer) => void
  readonly problem: (detail: string) => void
  /** Called when `isFull` may have changed. */
  readonly changed: () => void
}

/** A message of the client. `bytes` are the bytes of its text; empty for a message that was not read. */
export type IncomingMessage = { readonly bytes: Buffer; readonly message: Message | Refusal }

type Waiting = { readonly read: Buffer | Refusal; readonly reserved: number }

/**
 * Number of queued messages above which the gateway reads nothing from the client. Above this number, the gateway does
 * not detect that the client disconnects either. The provider processes 16 messages concurrently.
 */
const MAX_WAITING = 16
const NO_BYTES: Buffer = Buffer.alloc(0)

/**
 * Queues the messages of a client in order until they are served. Their bytes count against the budget of buffered
 * bodies.
 */
export class MessageIntake {
  readonly #deps: MessageIntakeDeps
  readonly #frames: ClientFrames
  readonly #waiting: Waiting[] = []
  readonly #ended = createExchangeAbort()
  /** Number of budget bytes that are reserved for the message being read. */
  #reserved = 0
  #isWaitingForRoom = false
  #isScanning = false

  constructor(deps: MessageIntakeDeps) {
    this.#deps = deps
    const limit = LIMITS.modelBodyBytes
    this.#frames = new ClientFrames(
      {
        message: (bytes) => this.#add({ read: bytes, reserved: this.#takeReserved() }),
        tooLong: () => this.#tooLong(limit),
        room: (bytes) => this.#room(bytes),
        control: deps.control,
        problem: deps.problem,
      },
      limit,
    )
  }

  /** True while nothing may be read from the client. */
  get isFull(): boolean {
    return this.#isWaitingForRoom || this.#waiting.length > MAX_WAITING
  }

  push(chunk: Buffer): void {
    this.#frames.push(chunk)
  }

  /** Ends the intake and discards queued messages. */
  end(): void {
    this.#frames.stop()
    this.#ended.abort(new Error('the WebSocket ended'))
    this.#releaseBytes(this.#takeReserved() + this.#waiting.reduce((sum, { reserved }) => sum + reserved, 0))
    this.#waiting.length = 0
  }

  next(): void {
    while (!this.#deps.isBusy() && !this.#isScanning && !this.#ended.signal.aborted) {
      const message = this.#waiting.shift()
      if (message === undefined) return
      this.#deps.changed()
      this.#read(message)
    }
  }

  /**
   * Reserves memory for a message. A short message needs no budget while no message is queued, because the number of
   * concurrent decisions is bounded.
   */
  #room(bytes: number): true | Promise<boolean> {
    const more = bytes - this.#reserved
    if (more <= 0 || (bytes <= SMALL_BYTES && this.#waiting.length === 0)) return true
    return this.#take(more)
  }

  async #take(bytes: number): Promise<boolean> {
    const { inner, changed } = this.#deps
    const { signal } = this.#ended
    this.#isWaitingForRoom = true
    changed()
    try {
      await inner.room.take({ agent: this.#agent, bytes, signal })
      // When `end` was called while this call waited, `end` could not return the bytes of this call, so they are
      // returned here.
      if (signal.aborted) this.#releaseBytes(bytes)
      else this.#reserved += bytes
      return true
    } catch (error) {
      this.#releaseBytes(this.#takeReserved())
      if (!signal.aborted) this.#add({ read: refusalOf(error), reserved: 0 })
      return false
    } finally {
      this.#isWaitingForRoom = false
      changed()
    }
  }

  #tooLong(limit: number): void {
    this.#releaseBytes(this.#takeReserved())
    const detail = `A message of a WebSocket may have at most ${limit} bytes.`
    this.#add({ read: refusal('body_too_large', detail), reserved: 0 })
  }

  /** Returns the reserved budget bytes of the message that was read. The caller must release them. */
  #takeReserved(): number {
    const reserved = this.#reserved
    this.#reserved = 0
    return reserved
  }

  #releaseBytes(bytes: number): void {
    if (bytes > 0) this.#deps.inner.room.releaseBytes(this.#agent, bytes)
  }

  get #agent(): string {
    return this.#deps.opening.agent?.name ?? ''
  }

  #add(message: Waiting): void {
    this.#waiting.push(message)
    this.next()
    this.#deps.changed()
  }

  /** Parses a message, a long one in slices. Later messages wait until it is parsed. */
  #read({ read, reserved }: Waiting): void {
    const release = () => this.#releaseBytes(reserved)
    const { serve, protocol, inner, opening } = this.#deps
    if (isRefusal(read)) {
      serve({ bytes: NO_BYTES, message: read }, release)
      return
    }
    const work = protocol.read(read)
    if (read.length <= LIMITS.pacedBodyBytes) {
      serve({ bytes: read, message: runSliced(work) }, release)
      return
    }
    this.#isScanning = true
    const scanned = inner.runSliced(opening, work).then((message) => {
      this.#isScanning = false
      if (this.#ended.signal.aborted || this.#deps.isBusy()) release()
      else serve({ bytes: read, message }, release)
      this.next()
    })
    // The parse of a long message is aborted when the connection closes.
    scanned.catch(release)
  }
}

function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ChaperoneError)) return refusal('internal', 'the message could not be buffered')
  return refusal(error.code, error.options.detail ?? error.message)
}
