import { addChunk } from '../../collections/chunk-list.ts'
import { HEAD_END, MAX_HEAD_BYTES } from './response-head.ts'

/** The start of a head whose end has not come yet. What was searched for its end is not searched again. */
export class HeldHead {
  #chunks: Buffer[]
  #length: number
  /** The last bytes: its end may be cut. */
  #tail: Buffer

  constructor(bytes: Buffer) {
    this.#chunks = [bytes]
    this.#length = bytes.length
    this.#tail = bytes.subarray(1 - HEAD_END.length)
  }

  /** All bytes, once the head has ended or is too long; null before. */
  push(chunk: Buffer): Buffer | null {
    addChunk(this.#chunks, chunk)
    this.#length += chunk.length
    const searched = Buffer.concat([this.#tail, chunk])
    this.#tail = searched.subarray(1 - HEAD_END.length)
    const isOver = this.#length > MAX_HEAD_BYTES || searched.includes(HEAD_END)
    return isOver ? Buffer.concat(this.#chunks) : null
  }
}
