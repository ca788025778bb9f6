import { addChunk } from '../../collections/chunk-list.ts'
import { HEAD_END, MAX_HEAD_BYTES } from './response-head.ts'

/** Buffers an incomplete response head. Each byte is searched only once for the end of the head. */
export class HeldHead {
  #chunks: Buffer[]
  #length: number
  /** Last bytes of the buffer, because the end of the head may be split between two chunks. */
  #tail: Buffer

  constructor(bytes: Buffer) {
    this.#chunks = [bytes]
    this.#length = bytes.length
    this.#tail = bytes.subarray(1 - HEAD_END.length)
  }

  /** Adds a chunk. Returns all bytes when the head is complete or too long, otherwise null. */
  push(chunk: Buffer): Buffer | null {
    addChunk(this.#chunks, chunk)
    this.#length += chunk.length
    const searched = Buffer.concat([this.#tail, chunk])
    this.#tail = searched.subarray(1 - HEAD_END.length)
    const isOver = this.#length > MAX_HEAD_BYTES || searched.includes(HEAD_END)
    return isOver ? Buffer.concat(this.#chunks) : null
  }
}
