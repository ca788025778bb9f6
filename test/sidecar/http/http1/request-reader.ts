import type { BodyDecoder } from '../../../../sidecar/http/http1/body-decoder.ts'
import type { RequestHead } from '../../../../sidecar/listener/http1/head.ts'
import { REQUEST_CHUNK_LIMITS } from '../../../../sidecar/listener/http1/request-body.ts'
import { type Codec, type HeadReader, PRESENT } from './codec.ts'

export type RequestRead = { readonly head: RequestHead; readonly body: string }

export type RequestsRead = {
  readonly requests: readonly RequestRead[]
  /** Reason of the refusal; null when nothing was refused. */
  readonly problem: string | null
  /** Head of the refused request, as far as it was read. */
  readonly refusedHead: RequestHead | null
  /** The request whose body is incomplete; null without one. */
  readonly unfinished: RequestRead | null
  /** Number of bytes of an incomplete head. */
  readonly headBytes: number
  /** False after a message that is the last of its connection. */
  readonly isOpen: boolean
}

/** Parses the requests of one connection as the listener does. The bytes arrive in these pieces. */
export function readRequests(pieces: readonly Buffer[], codec: Codec = PRESENT): RequestsRead {
  const reader = new RequestReader(codec)
  for (const piece of pieces) reader.take(piece)
  return reader.result
}

/** Follows `Http1Connection`: bytes of a head are buffered, bytes of a body are fed to its decoder. */
class RequestReader {
  readonly #codec: Codec
  readonly #readHead: HeadReader
  readonly #requests: RequestRead[] = []
  #problem: string | null = null
  #refusedHead: RequestHead | null = null
  #isOpen = true
  #pending: Buffer | null = null
  #head: RequestHead | null = null
  #decoder: BodyDecoder | null = null
  #chunks: Buffer[] = []

  constructor(codec: Codec) {
    this.#codec = codec
    this.#readHead = codec.createHeadReader()
  }

  get result(): RequestsRead {
    const head = this.#head
    return {
      requests: this.#requests,
      problem: this.#problem,
      refusedHead: this.#refusedHead,
      unfinished: head === null ? null : { head, body: this.#text() },
      headBytes: this.#pending?.length ?? 0,
      isOpen: this.#isOpen,
    }
  }

  take(piece: Buffer): void {
    let rest: Buffer | null = piece
    while (rest !== null && rest.length > 0 && this.#isOpen && this.#problem === null)
      rest = this.#decoder === null ? this.#takeHead(rest) : this.#takeBody(this.#decoder, rest)
  }

  #takeHead(piece: Buffer): Buffer | null {
    const bytes: Buffer = this.#pending === null ? piece : Buffer.concat([this.#pending, piece])
    const result = this.#readHead(bytes, bytes.length - piece.length)
    this.#pending = result.kind === 'incomplete' ? bytes : null
    if (result.kind === 'malformed') this.#refuse(result.problem.detail, result.head)
    if (result.kind !== 'head') return null
    this.#head = result.head
    this.#decoder = this.#decoderFor(result.head.framing)
    if (this.#decoder === null) this.#complete()
    return bytes.subarray(result.end)
  }

  #decoderFor({ body, length }: RequestHead['framing']): BodyDecoder | null {
    const { LengthDecoder, ChunkedDecoder } = this.#codec
    const sink = { push: (chunk: Buffer) => void this.#chunks.push(chunk), complete() {} }
    if (body === 'none') return null
    return body === 'length'
      ? new LengthDecoder(sink, length)
      : new ChunkedDecoder(sink, REQUEST_CHUNK_LIMITS)
  }

  #takeBody(decoder: BodyDecoder, bytes: Buffer): Buffer | null {
    const rest = decoder.feed(bytes)
    if (decoder.problem !== null) this.#refuse(decoder.problem, this.#head)
    else if (decoder.isDone) this.#complete()
    return rest
  }

  #complete(): void {
    const head = this.#head
    if (head === null) throw new Error('a body ended without a head')
    this.#requests.push({ head, body: this.#text() })
    this.#clear()
    this.#isOpen = head.framing.keepAlive && head.method !== 'CONNECT' && head.framing.upgrade === null
  }

  #refuse(problem: string, head: RequestHead | null): void {
    this.#problem = problem
    this.#refusedHead = head
    this.#clear()
  }

  #clear(): void {
    this.#head = null
    this.#decoder = null
    this.#chunks = []
  }

  #text(): string {
    return Buffer.concat(this.#chunks).toString('latin1')
  }
}
