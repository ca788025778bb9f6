import type { Message, MessageProtocol } from '../../core/connectors/message-protocol.ts'
import { ChaperoneError } from '../../core/errors.ts'
import { isRefusal, type Refusal, refusal } from '../../core/request/canonical.ts'
import { runSliced } from '../../core/sliced.ts'
import { LIMITS } from '../../core/wire/limits.ts'
import { SMALL_BYTES } from '../pipeline/body/body-budget.ts'
import type { Exchange, InnerExchanges } from '../pipeline/exchange.ts'
import { createExchangeAbort } from '../pipeline/exchange-abort.ts'
import { ClientFrames } from './client-frames.ts'

export type MessageIntakeDeps = {
  readonly opening: Exchange
  readonly inner: Pick<InnerExchanges, 'room' | 'runSliced'>
  readonly protocol: Pick<MessageProtocol, 'read'>
  /** True while the message before is being decided upon; `next` is called when it is not any more. */
  readonly isBusy: () => boolean
  /** A message, whole; `release` gives back what it takes of the budget, once. */
  readonly serve: (message: IncomingMessage, release: () => void) => void
  readonly control: (opcode: number, payload: Buffer) => void
  readonly problem: (detail: string) => void
  /** `isFull` may have changed. */
  readonly changed: () => void
}

/** `bytes`: as the client sent them; none of a message that was not read. */
export type IncomingMessage = { readonly bytes: Buffer; readonly message: Message | Refusal }

type Waiting = { readonly read: Buffer | Refusal; readonly reserved: number }

/** Beyond it the client is not read, so that its leaving is not seen either; the provider answers 16 messages at once. */
const MAX_WAITING = 16
const NO_BYTES: Buffer = Buffer.alloc(0)

/** Messages of the client until they are served, in the order of their arrival, within the budget of kept bodies. */
export class MessageIntake {
  readonly #deps: MessageIntakeDeps
  readonly #frames: ClientFrames
  readonly #waiting: Waiting[] = []
  readonly #ended = createExchangeAbort()
  /** Bytes of the budget that the message takes whose frames are being read. */
  #reserved = 0
  #isWaitingForRoom = false
  #isScanning = false

  constructor(deps: MessageIntakeDeps) {
    this.#deps = deps
    const limit = LIMITS.modelBodyBytes
    this.#frames = new ClientFrames(
      {
        message: (bytes) => this.#add({ read: bytes, reserved: this.#handOver() }),
        tooLong: () => this.#tooLong(limit),
        room: (bytes) => this.#room(bytes),
        control: deps.control,
        problem: deps.problem,
      },
      limit,
    )
  }

  /** True while the client must not be read. */
  get isFull(): boolean {
    return this.#isWaitingForRoom || this.#waiting.length > MAX_WAITING
  }

  push(chunk: Buffer): void {
    this.#frames.push(chunk)
  }

  /** Discards what is not served yet. */
  end(): void {
    this.#frames.stop()
    this.#ended.abort(new Error('the WebSocket ended'))
    this.#giveBack(this.#handOver() + this.#waiting.reduce((sum, { reserved }) => sum + reserved, 0))
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

  /** Short messages take nothing of the budget while none waits: how many are decided upon at once is bounded. */
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
      // What was counted before was given back by the end.
      if (signal.aborted) this.#giveBack(bytes)
      else this.#reserved += bytes
      return true
    } catch (error) {
      this.#giveBack(this.#handOver())
      if (!signal.aborted) this.#add({ read: refusalOf(error), reserved: 0 })
      return false
    } finally {
      this.#isWaitingForRoom = false
      changed()
    }
  }

  #tooLong(limit: number): void {
    this.#giveBack(this.#handOver())
    const detail = `A message of a WebSocket may have at most ${limit} bytes.`
    this.#add({ read: refusal('body_too_large', detail), reserved: 0 })
  }

  /** What the message of the frames takes, from now on counted elsewhere. */
  #handOver(): number {
    const reserved = this.#reserved
    this.#reserved = 0
    return reserved
  }

  #giveBack(bytes: number): void {
    if (bytes > 0) this.#deps.inner.room.giveBack(this.#agent, bytes)
  }

  get #agent(): string {
    return this.#deps.opening.agent?.name ?? ''
  }

  #add(message: Waiting): void {
    this.#waiting.push(message)
    this.next()
    this.#deps.changed()
  }

  /** A long message is read in slices; none overtakes it. */
  #read({ read, reserved }: Waiting): void {
    const release = () => this.#giveBack(reserved)
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
    // The connection was cut.
    scanned.catch(release)
  }
}

function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ChaperoneError)) return refusal('internal', 'the message could not be kept')
  return refusal(error.code, error.options.detail ?? error.message)
}
