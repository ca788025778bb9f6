import { Readable } from 'node:stream'

/** Returns the bytes as a stream of pieces. The pieces share the memory of `bytes`. */
export function inPieces(bytes: Buffer, size: number): Readable {
  let at = 0
  return new Readable({
    highWaterMark: size,
    read() {
      const piece = bytes.subarray(at, at + size)
      at += piece.length
      this.push(piece.length === 0 ? null : piece)
    },
  })
}
