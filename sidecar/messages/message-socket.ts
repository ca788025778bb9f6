import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { Message, MessageProtocol } from '../../core/connectors/message-protocol.ts'
import { isRefusal, type Refusal, refusal } from '../../core/request/canonical.ts'
import { encodeFrame, OPCODE } from '../../core/websocket/frame.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { abortReason } from '../pipeline/exchange-abort.ts'
import type { InnerExchanges, MessageChannel } from '../pipeline/inner-exchanges.ts'
import type { Answered, Journaled, Recorded } from '../pipeline/phases.ts'
import { closeFrame } from './client-frames.ts'
import { InFlightMessages } from './in-flight-messages.ts'
import { type MessageReply, messageExchange, messageReply } from './message-exchange.ts'
import { type IncomingMessage, MessageIntake } from './message-intake.ts'
import { connectionLost, connectorChanged, isSameUpstream } from './same-upstream.ts'
import { ServerFrames } from './server-frames.ts'

export type MessageSocketParts = {
  /** Exchange of the handshake, whose upstream has switched protocols. */
  readonly opening: Answered
  readonly inner: InnerExchanges
  readonly protocol: MessageProtocol
  readonly client: Duplex
  readonly upstream: Duplex
  /** Called with the number of transferred bytes. Bytes in either direction reset the idle time of the connection. */
  readonly moved: (direction: 'up' | 'down', bytes: number) => void
  /** Closes both connections immediately. */
  readonly cut: () => void
}

const PROTOCOL_ERROR = 1002
const SERVICE_RESTART = 1012

/**
 * Serves a WebSocket on which each client message is a request. Each message is a separate exchange, in order of
 * arrival. Only messages that the pipeline forwards are written upstream, each as one frame.
 */
export class MessageSocket {
  readonly #parts: MessageSocketParts
  readonly #up: MessageIntake
  readonly #down: ServerFrames
  readonly #flights: InFlightMessages
  /** Frames of the gateway that wait until the current message of the server has been forwarded to the client. */
  readonly #events: Uint8Array[] = []
  readonly #running = new Map<Exchange, Promise<Recorded>>()
  /** The message whose decision is pending; null when there is none. Later messages wait for the decision. */
  #deciding: Exchange | null = null
  #isUpBlocked = false
  #isDownBlocked = false
  #acknowledged = 0
  #isClosing = false
  #isDownClosed = false

  constructor(parts: MessageSocketParts) {
    this.#parts = parts
    this.#flights = new InFlightMessages(parts.inner.clock.monotonicMs)
    const { opening, inner, protocol } = parts
    this.#up = new MessageIntake({
      opening,
      inner,
      protocol,
      isBusy: () => this.#deciding !== null || this.#isClosing,
      serve: (incoming, release) => this.#serve(incoming, release),
      control: (opcode, payload) => this.#control(opcode, payload),
      problem: (detail) => this.#close(PROTOCOL_ERROR, detail),
      changed: () => this.#updateReading(),
    })
    this.#down = new ServerFrames({
      pass: (bytes) => this.#toClient(bytes),
      message: (head, size) => this.#flights.event(parts.protocol.event(head), head, size),
      boundary: () => this.#flush(),
      close: () => {
        this.#isDownClosed = true
      },
      problem: () => parts.cut(),
    })
  }

  /** True while a message waits for an approver. The idle timeout does not apply then. */
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

  /** Ends the messages in flight. Resolves when every message has its record. */
  async end(cause: 'client' | 'upstream'): Promise<void> {
    this.#isClosing = true
    // Node emits the end of a stream only while the stream is read.
    this.#parts.client.resume()
    this.#parts.upstream.resume()
    this.#up.end()
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

  #serve({ bytes, message }: IncomingMessage, release: () => void): void {
    if (message.kind !== 'acknowledgement') {
      this.#run(bytes, message, release)
      return
    }
    if (this.#acknowledged === this.#flights.ended) {
      this.#run(
        bytes,
        refusal(
          'unsupported_body',
          'the message acknowledges a response, but no completed response waits for an acknowledgement; do not send it',
        ),
        release,
      )
      return
    }
    this.#acknowledged++
    release()
    this.#toUpstream(OPCODE.text, bytes)
  }

  #run(
    bytes: Buffer,
    message: Exclude<Message, { kind: 'acknowledgement' }> | Refusal,
    release: () => void,
  ): void {
    const { opening, inner } = this.#parts
    const problem = isRefusal(message) ? { code: message.code, detail: message.detail } : null
    const { body, streamId } = isRefusal(message) ? NOTHING : message
    const reply = messageReply((event) => this.#event(event))
    const channel: MessageChannel = {
      connectorType: opening.connector?.connector.name ?? '',
      streamId,
      forward: (exchange) => this.#forward(exchange, { bytes, reply, onSent: decided }),
    }
    const exchange = messageExchange({ opening, inner, channel, body: bufferOf(body), problem, reply })
    const decided = () => {
      if (this.#deciding !== exchange) return
      this.#deciding = null
      this.#up.next()
    }
    this.#deciding = exchange
    const run = inner.run(exchange).finally(() => {
      this.#running.delete(exchange)
      release()
      decided()
    })
    this.#running.set(exchange, run)
  }

  #forward(exchange: Journaled, { bytes, reply, onSent }: Sending): Promise<undefined> {
    const { signal } = exchange.abort
    if (signal.aborted) return Promise.reject(abortReason(signal))
    if (this.#isClosing) return Promise.reject(connectionLost())
    if (!isSameUpstream(this.#parts.opening, exchange)) {
      setImmediate(() => this.#close(SERVICE_RESTART, 'the Connector has changed'))
      return Promise.reject(connectorChanged())
    }
    const flight = this.#flights.add(exchange, reply)
    this.#toUpstream(OPCODE.text, bytes)
    exchange.bodyBytes = undefined
    onSent()
    return flight
  }

  #control(opcode: number, payload: Buffer): void {
    this.#toUpstream(opcode, payload)
    if (opcode !== OPCODE.close) return
    // The message whose decision is pending is aborted too: the client has closed the WebSocket and expects no
    // response.
    this.#isClosing = true
    this.#deciding?.abort.abort(new Error('the client closed the WebSocket'))
  }

  #toUpstream(opcode: number, payload: Buffer): void {
    const { upstream } = this.#parts
    if (upstream.destroyed || upstream.writableEnded) return
    if (upstream.write(encodeFrame(opcode, payload, randomBytes(4))) || this.#isUpBlocked) return
    this.#isUpBlocked = true
    this.#updateReading()
    upstream.once('drain', () => {
      this.#isUpBlocked = false
      this.#updateReading()
    })
  }

  /** Pauses reading from the client while the intake is full or the upstream does not read; otherwise resumes it. */
  #updateReading(): void {
    const { client } = this.#parts
    const isFull = this.#isUpBlocked || this.#up.isFull
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

  /** Sends a close frame to both peers and closes both connections. */
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

const NOTHING = { body: new Uint8Array(0), streamId: null } as const

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

type Sending = { readonly bytes: Buffer; readonly reply: MessageReply; readonly onSent: () => void }
