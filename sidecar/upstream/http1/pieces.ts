import { Readable } from 'node:stream'

/** The bytes as a stream of pieces that share their memory. */
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
