import { ChaperoneError } from '../../../core/errors.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import {
  type BodyDecoder,
  ChunkedDecoder,
  type ChunkLimits,
  LengthDecoder,
} from '../../http/http1/body-decoder.ts'
import type { RequestBody } from '../../pipeline/request-body.ts'
import { BodyIntake, type BodySource, EMPTY_BODY } from '../body-intake.ts'
import type { Framing } from './framing.ts'

/**
 * Largest declared body, in bytes, for which the handler is delayed by one turn of the event loop. A body that arrives
 * during this turn needs no stream.
 */
const EXPECTED_SOON_BYTES = 64 * 1024
/**
 * Limits of a chunked request body. Clients rarely send chunk extensions, and unlimited extensions would allow a denial
 * of service.
 */
export const REQUEST_CHUNK_LIMITS: ChunkLimits = {
  sizeLineBytes: 256,
  extensionBytes: 4_096,
  trailerBytes: LIMITS.headerBlockBytes,
}

/**
 * Reads the request bodies of one connection. One object is reused for all requests. Trailers are validated and
 * dropped: a field that affects the decision must not arrive after the decision.
 */
export class RequestBodyReader {
  readonly #source: BodySource
  #intake: BodyIntake | null = null
  #decoder: BodyDecoder | null = null
  #declared = 0
  #owesContinue = false

  constructor(source: BodySource) {
    this.#source = source
  }

  /** Prepares for the body of a request. `feed` then receives the bytes after the head. */
  open(framing: Framing): void {
    this.#owesContinue = framing.expectsContinue
    this.#declared = framing.length
    if (framing.body === 'none') {
      this.close()
    } else if (framing.body === 'length') {
      this.#intake = new BodyIntake(this.#source, framing.length)
      this.#decoder = new LengthDecoder(this.#intake, framing.length)
    } else {
      this.#intake = new BodyIntake(this.#source, null)
      this.#decoder = new ChunkedDecoder(this.#intake, REQUEST_CHUNK_LIMITS)
    }
  }

  /** Discards the body of the current request. */
  close(): void {
    this.#intake = null
    this.#decoder = null
    this.#owesContinue = false
  }

  get body(): RequestBody {
    return this.#intake ?? EMPTY_BODY
  }

  get isDone(): boolean {
    return this.#decoder === null || this.#decoder.isDone
  }

  get problem(): string | null {
    return this.#decoder?.problem ?? null
  }

  /** True while the client waits for 100 (Continue) before it sends the body. */
  get owesContinue(): boolean {
    return this.#owesContinue
  }

  /** Returns true once when the client waits for 100 (Continue). The caller must then send it. */
  takeContinue(): boolean {
    const owes = this.#owesContinue
    this.#owesContinue = false
    return owes
  }

  get isExpectedSoon(): boolean {
    return !this.isDone && !this.#owesContinue && this.#declared <= EXPECTED_SOON_BYTES
  }

  get bytesIn(): number {
    return this.#intake?.bytesIn ?? 0
  }

  /** Number of declared body bytes that have not arrived; 0 for a chunked body. */
  get missing(): number {
    return this.isDone ? 0 : Math.max(0, this.#declared - this.bytesIn)
  }

  /** Decodes body bytes and returns the bytes after the body. A framing problem fails the body and sets `problem`. */
  feed(bytes: Buffer): Buffer | null {
    if (this.#decoder === null) return bytes
    this.#owesContinue = false
    const rest = this.#decoder.feed(bytes)
    if (this.#decoder.problem !== null) this.fail(malformedBody(this.#decoder.problem))
    return rest
  }

  fail(error: Error): void {
    this.#intake?.fail(error)
  }

  discard(): void {
    this.#intake?.discard()
  }
}

function malformedBody(detail: string): ChaperoneError {
  return new ChaperoneError('malformed_request', { detail })
}
