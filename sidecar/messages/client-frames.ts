import {
  applyMask,
  encodeFrame,
  type FrameHead,
  isControl,
  OPCODE,
  readFrameHead,
} from '../../core/websocket/frame.ts'

/** Receives the messages of a client. Each message is complete, unmasked text. */
export type ClientFrameHandler = {
  message(text: Buffer): void
  /** Called when a message exceeds the size limit. The rest of the message is discarded. */
  tooLong(): void
  /**
   * Called before the payload of a frame is read, with the size in bytes of its message up to the end of the frame.
   * While the promise is pending, nothing is read. When it resolves with false, the message is discarded.
   */
  room(bytes: number): true | Promise<boolean>
  control(opcode: number, payload: Buffer): void
  /** Called for a protocol error. No frame after it is read. */
  problem(detail: string): void
}

/** Maximum number of fragments of a message, because each fragment costs memory besides its bytes. */
const MAX_PARTS = 65_536
const NO_BYTES: Buffer = Buffer.alloc(0)

/** Parses the frames of a client, which are masked and have no extensions. Joins the fragments of a message. */
export class ClientFrames {
  readonly #handler: ClientFrameHandler
  readonly #limit: number
  /** Bytes of an incomplete frame head or control frame. */
  #pending = NO_BYTES
  /** Data frame whose payload is being read; null between frames. */
  #frame: { readonly head: FrameHead; readonly key: Buffer; at: number } | null = null
  /** Payload of the message so far; null between messages. */
  #parts: Buffer[] | null = null
  #size = 0
  #isDiscarded = false
  #isOver = false
  /** Bytes that arrived while a frame waits for memory; null when no frame waits. */
  #held: Buffer[] | null = null

  constructor(handler: ClientFrameHandler, limit: number) {
    this.#handler = handler
    this.#limit = limit
  }

  push(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0 && !this.#isOver) {
      if (this.#held !== null) {
        this.#held.push(Buffer.from(rest))
        return
      }
      rest = this.#frame === null ? this.#readHead(rest) : this.#readData(rest)
    }
  }

  /** Stops parsing and discards buffered bytes. */
  stop(): void {
    this.#isOver = true
    this.#held = null
  }

  #readHead(chunk: Buffer): Buffer {
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    this.#pending = NO_BYTES
    const head = readFrameHead(bytes)
    if (head === null) return this.#wait(bytes)
    if ('problem' in head) return this.#fail(head.problem)
    const wrong = this.#judge(head)
    if (wrong !== null) return this.#fail(wrong)
    const key = bytes.subarray(head.size - 4, head.size)
    const end = head.size + head.length
    if (!isControl(head.opcode)) return this.#begin(head, Buffer.from(key), bytes.subarray(head.size))
    if (bytes.length < end) return this.#wait(bytes)
    const payload = Buffer.from(bytes.subarray(head.size, end))
    applyMask(payload, key, 0)
    if (head.opcode === OPCODE.close) this.#isOver = true
    this.#handler.control(head.opcode, payload)
    return bytes.subarray(end)
  }

  #wait(bytes: Buffer): Buffer {
    this.#pending = Buffer.from(bytes)
    return NO_BYTES
  }

  #judge(head: FrameHead): string | null {
    if (!head.isMasked) return 'a frame of the client is not masked'
    if (head.opcode === OPCODE.binary) return 'a message is binary; send text messages'
    if (isControl(head.opcode)) return null
    const isContinued = this.#parts !== null
    if ((head.opcode === OPCODE.continuation) === isContinued) return null
    return isContinued
      ? 'a message begins before the previous message ended'
      : 'a continuation frame has no message to continue'
  }

  #begin(head: FrameHead, key: Buffer, rest: Buffer): Buffer {
    this.#frame = { head, key, at: 0 }
    if (this.#parts === null) {
      this.#parts = []
      this.#size = 0
      this.#isDiscarded = false
    }
    return this.#hasRoom(head.length) ? this.#readData(rest) : rest
  }

  /** Reserves memory for a frame. Returns false while the frame waits for memory. */
  #hasRoom(length: number): boolean {
    if (this.#isDiscarded) return true
    if (this.#size + length > this.#limit) {
      this.#discard()
      this.#handler.tooLong()
      return true
    }
    const room = this.#handler.room(this.#size + length)
    if (room === true) return true
    this.#held = []
    void room.then((isKept) => {
      const held = Buffer.concat(this.#held ?? [])
      this.#held = null
      if (!isKept) this.#discard()
      this.push(held)
    })
    return false
  }

  #discard(): void {
    this.#isDiscarded = true
    this.#parts = []
  }

  #readData(chunk: Buffer): Buffer {
    const frame = this.#frame
    if (frame === null) return chunk
    const part = chunk.subarray(0, frame.head.length - frame.at)
    this.#keep(part, frame.key, frame.at)
    frame.at += part.length
    if (frame.at === frame.head.length) this.#endFrame(frame.head)
    return chunk.subarray(part.length)
  }

  #keep(part: Buffer, key: Buffer, at: number): void {
    if (this.#isDiscarded || this.#isOver || part.length === 0) return
    this.#size += part.length
    if ((this.#parts?.length ?? 0) >= MAX_PARTS) {
      this.#discard()
      this.#handler.tooLong()
      return
    }
    const copy = Buffer.from(part)
    applyMask(copy, key, at)
    this.#parts?.push(copy)
  }

  #endFrame(head: FrameHead): void {
    this.#frame = null
    if (!head.isFinal) return
    const parts = this.#parts ?? []
    this.#parts = null
    if (!this.#isDiscarded)
      this.#handler.message(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts))
  }

  #fail(detail: string): Buffer {
    this.#isOver = true
    this.#handler.problem(detail)
    return NO_BYTES
  }
}

/** Returns a close frame. The frame is masked when `key` is given. */
export function closeFrame(code: number, reason: string, key: Uint8Array | null): Uint8Array {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason))
  payload.writeUInt16BE(code)
  payload.write(reason, 2)
  return encodeFrame(OPCODE.close, payload.subarray(0, 125), key)
}
