import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { Message, MessageProtocol } from '../../core/connectors/message-protocol.ts'
import { isRefusal, type Refusal, refusal } from '../../core/request/canonical.ts'
import { encodeFrame, OPCODE } from '../../core/websocket/frame.ts'
import { LIMITS } from '../../core/wire/limits.ts'
import type { Exchange, InnerExchanges, MessageChannel } from '../pipeline/exchange.ts'
import { abortReason } from '../upstream/abort-reason.ts'
import { ClientFrames, closeFrame } from './client-frames.ts'
import { Flights } from './flights.ts'
import type { MessageBudget } from './message-budget.ts'
import { type MessageReply, messageExchange, messageReply } from './message-exchange.ts'
import { connectionLost, connectorChanged, isSameUpstream } from './same-upstream.ts'
import { ServerFrames } from './server-frames.ts'
import { strictText } from './strict-text.ts'

export type MessageSocketParts = {
  readonly opening: Exchange
  readonly inner: InnerExchanges
  readonly protocol: MessageProtocol
  readonly client: Duplex
  readonly upstream: Duplex
  readonly budget: MessageBudget
  /** Bytes passed; a byte in either direction sets `quiet` of the idle watch to 0. */
  readonly moved: (direction: 'up' | 'down', bytes: number) => void
  /** Closes both sides at once. */
  readonly cut: () => void
}

type Waiting = { readonly text: string; readonly refused: Refusal | null; readonly bytes: number }

/** Beyond it the client is not read, so that its leaving is not seen either; the provider answers 16 messages at once. */
const MAX_WAITING = 16
const PROTOCOL_ERROR = 1002
const SERVICE_RESTART = 1012

/**
 * Serves a WebSocket on which each message of the client is a request. Every message is an exchange of its own, in the
 * order of their arrival; only what the pipeline forwards is written upstream, as one frame of ours.
 */
export class MessageSocket {
  readonly #parts: MessageSocketParts
  readonly #up: ClientFrames
  readonly #down: ServerFrames
  readonly #flights: Flights
  readonly #waiting: Waiting[] = []
  /** Messages of ours that wait for the end of a message of the server. */
  readonly #events: Uint8Array[] = []
  readonly #running = new Map<Exchange, Promise<void>>()
  #partial = 0
  /** The message that is being decided upon; no other one overtakes it. */
  #deciding: Exchange | null = null
  #isUpBlocked = false
  #isDownBlocked = false
  #acknowledged = 0
  #isClosing = false
  #isDownClosed = false

  constructor(parts: MessageSocketParts) {
    this.#parts = parts
    this.#flights = new Flights(parts.inner.clock.monotonicMs)
    const limit = LIMITS.heldBodyBytes
    this.#up = new ClientFrames(
      {
        message: (text) => this.#received(text),
        tooLong: () => this.#tooLong(limit),
        mayKeep: (bytes) => this.#mayKeep(bytes),
        control: (opcode, payload) => this.#control(opcode, payload),
        problem: (detail) => this.#close(PROTOCOL_ERROR, detail),
      },
      limit,
    )
    this.#down = new ServerFrames({
      pass: (bytes) => this.#toClient(bytes),
      message: (head, size) => this.#flights.event(parts.protocol.event(head), size),
      boundary: () => this.#flush(),
      close: () => {
        this.#isDownClosed = true
      },
      problem: () => parts.cut(),
    })
  }

  /** True while a message waits for an approver: then nothing has to move. */
  get isHeld(): boolean {
    return this.#deciding?.isWaiting === true
  }

  fromClient(chunk: Buffer): void {
    this.#parts.moved('up', chunk.length)
    if (!this.#isClosing) this.#up.push(chunk)
  }

  fromUpstream(chunk: Buffer): void {
    this.#parts.moved('down', chunk.length)
    this.#down.push(chunk)
  }

  /** Ends what is in flight and resolves when every message has its record. */
  async end(cause: 'client' | 'upstream'): Promise<void> {
    this.#isClosing = true
    // The end of a stream that is not read is never seen.
    this.#parts.client.resume()
    this.#parts.upstream.resume()
    this.#release(this.#partial + this.#waiting.reduce((sum, { bytes }) => sum + bytes, 0))
    this.#partial = 0
    this.#waiting.length = 0
    if (cause === 'client') this.#abortAll()
    else {
      this.#flights.failAll(connectionLost())
      this.#abortDeciding()
    }
    await Promise.allSettled(this.#running.values())
  }

  #abortAll(): void {
    for (const { abort } of this.#running.keys()) abort.abort(new Error('the client closed the connection'))
  }

  #abortDeciding(): void {
    if (this.#deciding === null) return
    this.#deciding.outcome.note ??= 'the upstream closed the WebSocket'
    this.#deciding.abort.abort(new Error('the upstream closed the WebSocket'))
  }

  #mayKeep(bytes: number): boolean {
    if (!this.#parts.budget.take(this.#agent, bytes)) {
      this.#release(this.#partial)
      this.#partial = 0
      const detail =
        'The agent has as many large messages in flight as the gateway keeps for it. Send it again later.'
      this.#add({ text: '', refused: refusal('rate_limited', detail), bytes: 0 })
      return false
    }
    this.#partial += bytes
    return true
  }

  get #agent(): string {
    return this.#parts.opening.agent?.name ?? ''
  }

  #release(bytes: number): void {
    if (bytes > 0) this.#parts.budget.give(this.#agent, bytes)
  }

  #tooLong(limit: number): void {
    this.#release(this.#partial)
    this.#partial = 0
    const detail = `A message of a WebSocket may have at most ${limit} bytes.`
    this.#add({ text: '', refused: refusal('body_too_large', detail), bytes: 0 })
  }

  #received(bytes: Buffer): void {
    const size = this.#partial
    this.#partial = 0
    const text = strictText(bytes)
    const refused = text === null ? refusal('malformed_request', 'the message is not valid UTF-8') : null
    this.#add({ text: text ?? '', refused, bytes: size })
  }

  #add(message: Waiting): void {
    this.#waiting.push(message)
    this.#next()
    this.#steer()
  }

  #next(): void {
    while (this.#deciding === null && !this.#isClosing) {
      const message = this.#waiting.shift()
      if (message === undefined) return
      this.#steer()
      this.#serve(message)
    }
  }

  #serve({ text, refused, bytes }: Waiting): void {
    const message = refused ?? this.#parts.protocol.read(text)
    if (message.kind !== 'acknowledgement') {
      this.#run(text, message, bytes)
      return
    }
    if (this.#acknowledged === this.#flights.ended) {
      this.#run(text, refusal('unsupported_body', 'the message acknowledges no answer'), bytes)
      return
    }
    this.#acknowledged++
    this.#release(bytes)
    this.#toUpstream(OPCODE.text, Buffer.from(text))
  }

  #run(text: string, message: Exclude<Message, { kind: 'acknowledgement' }> | Refusal, bytes: number): void {
    const { opening, inner } = this.#parts
    const problem = isRefusal(message) ? { code: message.code, detail: message.detail } : null
    const { body, lane } = isRefusal(message) ? NOTHING : message
    const reply = messageReply((event) => this.#event(event))
    const channel: MessageChannel = {
      connectorType: opening.connector?.connector.name ?? '',
      lane,
      forward: (exchange) => this.#forward(exchange, { text, reply, onSent: decided }),
    }
    const exchange = messageExchange({ opening, inner, channel, body: Buffer.from(body), problem, reply })
    const decided = () => {
      if (this.#deciding !== exchange) return
      this.#deciding = null
      this.#next()
    }
    this.#deciding = exchange
    const run = inner.run(exchange).finally(() => {
      this.#running.delete(exchange)
      this.#release(bytes)
      decided()
    })
    this.#running.set(exchange, run)
  }

  #forward(exchange: Exchange, { text, reply, onSent }: Sending): Promise<undefined> {
    const { signal } = exchange.abort
    if (signal.aborted) return Promise.reject(abortReason(signal))
    if (this.#isClosing) return Promise.reject(connectionLost())
    if (!isSameUpstream(this.#parts.opening, exchange)) {
      setImmediate(() => this.#close(SERVICE_RESTART, 'the Connector has changed'))
      return Promise.reject(connectorChanged())
    }
    const flight = this.#flights.add(exchange, reply)
    this.#toUpstream(OPCODE.text, Buffer.from(text))
    exchange.bodyBytes = undefined
    onSent()
    return flight
  }

  #control(opcode: number, payload: Buffer): void {
    this.#toUpstream(opcode, payload)
    if (opcode !== OPCODE.close) return
    // The client sends nothing more, so nothing that waits is wanted any more.
    this.#isClosing = true
    this.#deciding?.abort.abort(new Error('the client closed the WebSocket'))
  }

  #toUpstream(opcode: number, payload: Buffer): void {
    const { upstream } = this.#parts
    if (upstream.destroyed || upstream.writableEnded) return
    if (upstream.write(encodeFrame(opcode, payload, randomBytes(4))) || this.#isUpBlocked) return
    this.#isUpBlocked = true
    this.#steer()
    upstream.once('drain', () => {
      this.#isUpBlocked = false
      this.#steer()
    })
  }

  /** Reads from the client while there is room for what it sends. */
  #steer(): void {
    const { client } = this.#parts
    const isFull = this.#isUpBlocked || this.#waiting.length > MAX_WAITING
    if (isFull && !this.#isClosing) client.pause()
    else client.resume()
  }

  #toClient(bytes: Uint8Array): void {
    const { upstream, client } = this.#parts
    if (client.destroyed || client.writableEnded || client.write(bytes) || this.#isDownBlocked) return
    this.#isDownBlocked = true
    if (!this.#isClosing) upstream.pause()
    client.once('drain', () => {
      this.#isDownBlocked = false
      upstream.resume()
    })
  }

  #event(text: string): void {
    this.#events.push(encodeFrame(OPCODE.text, Buffer.from(text), null))
    if (this.#down.isAtBoundary) this.#flush()
  }

  #flush(): void {
    if (this.#isDownClosed) return
    for (const event of this.#events.splice(0)) {
      this.#parts.moved('down', event.length)
      this.#toClient(event)
    }
  }

  /** Tells both ends why and closes. */
  #close(code: number, reason: string): void {
    const { opening, client, upstream, cut } = this.#parts
    this.#isClosing = true
    opening.outcome.note ??= `WebSocket closed: ${reason}`
    if (this.#down.isAtBoundary && !this.#isDownClosed) this.#toClient(closeFrame(code, reason, null))
    if (!upstream.destroyed) upstream.end(closeFrame(1000, '', randomBytes(4)))
    if (client.destroyed) cut()
    else client.end(cut)
  }
}

const NOTHING = { body: '', lane: null } as const

type Sending = { readonly text: string; readonly reply: MessageReply; readonly onSent: () => void }
