import { type FrameHead, isControl, OPCODE, readFrameHead } from '../../core/websocket/frame.ts'

export type ServerFrameHandler = {
  /** Called with bytes of the server, which must be forwarded unchanged. */
  pass(bytes: Buffer): void
  /** Called at the end of a message of the server. `head` is its beginning, `size` its number of bytes. */
  message(head: string, size: number): void
  /**
   * Called between two messages of the server. Only at this point may the gateway write a message of its own to the
   * client.
   */
  boundary(): void
  close(): void
  problem(detail: string): void
}

/** Number of bytes at the beginning of a message that are kept to identify it. */
const HEAD_BYTES = 1_024
const NO_BYTES: Buffer = Buffer.alloc(0)

/** Parses the frames of a server while their bytes are forwarded. */
export class ServerFrames {
  readonly #handler: ServerFrameHandler
  #pending = NO_BYTES
  #left = 0
  #frame: FrameHead | null = null
  #isInMessage = false
  #head: Buffer[] = []
  #headBytes = 0
  #size = 0
  #isOver = false

  constructor(handler: ServerFrameHandler) {
    this.#handler = handler
  }

  /** True between two messages of the server, when the gateway may write a message of its own to the client. */
  get isAtBoundary(): boolean {
    return this.#frame === null && this.#pending.length === 0 && !this.#isInMessage
  }

  push(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0 && !this.#isOver)
      rest = this.#frame === null ? this.#readHead(rest) : this.#readData(rest)
  }

  #readHead(chunk: Buffer): Buffer {
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    this.#pending = NO_BYTES
    const head = readFrameHead(bytes)
    if (head === null) {
      this.#pending = Buffer.from(bytes)
      return NO_BYTES
    }
    const wrong = 'problem' in head ? head.problem : this.#judge(head)
    if (wrong !== null || 'problem' in head) {
      this.#isOver = true
      this.#handler.problem(wrong ?? '')
      return NO_BYTES
    }
    this.#frame = head
    this.#left = head.length
    this.#handler.pass(bytes.subarray(0, head.size))
    if (!isControl(head.opcode)) this.#isInMessage = true
    if (head.length === 0) this.#endFrame(head)
    return bytes.subarray(head.size)
  }

  #judge(head: FrameHead): string | null {
    if (head.isMasked) return 'a frame of the server is masked'
    if (isControl(head.opcode)) return null
    return (head.opcode === OPCODE.continuation) === this.#isInMessage
      ? null
      : 'the frames of a message are in the wrong order'
  }

  #readData(chunk: Buffer): Buffer {
    const frame = this.#frame
    if (frame === null) return chunk
    const part = chunk.subarray(0, this.#left)
    this.#left -= part.length
    if (!isControl(frame.opcode)) this.#note(part)
    this.#handler.pass(part)
    if (this.#left === 0) this.#endFrame(frame)
    return chunk.subarray(part.length)
  }

  #note(part: Buffer): void {
    this.#size += part.length
    if (this.#headBytes >= HEAD_BYTES) return
    const kept = part.subarray(0, HEAD_BYTES - this.#headBytes)
    this.#head.push(Buffer.from(kept))
    this.#headBytes += kept.length
  }

  #endFrame(frame: FrameHead): void {
    this.#frame = null
    if (frame.opcode === OPCODE.close) {
      this.#isOver = true
      this.#handler.close()
      return
    }
    if (!isControl(frame.opcode) && frame.isFinal) {
      this.#isInMessage = false
      const head = Buffer.concat(this.#head).toString('utf8')
      const size = this.#size
      this.#head = []
      this.#headBytes = 0
      this.#size = 0
      this.#handler.message(head, size)
    }
    if (!this.#isInMessage) this.#handler.boundary()
  }
}
