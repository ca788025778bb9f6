/**
 * Applies a git delta (`gitformat-pack`, "Deltified representation"). The delta begins with the sizes of base and
 * result; instructions follow that copy from the base or insert bytes. Null if the delta does not fit the base, is
 * broken, or produces more than `maxBytes` bytes.
 */
export function applyDelta(base: Uint8Array, delta: Uint8Array, maxBytes: number): Uint8Array | null {
  const reader = { delta, at: 0 }
  const baseSize = readSize(reader)
  const size = readSize(reader)
  if (baseSize !== base.length || size === null || size > maxBytes) return null
  const result = new Uint8Array(size)
  let filled = 0
  while (reader.at < delta.length) {
    const piece = readPiece(reader, base)
    if (piece === null || filled + piece.length > size) return null
    result.set(piece, filled)
    filled += piece.length
  }
  return filled === size ? result : null
}

type Reader = { readonly delta: Uint8Array; at: number }

/**
 * Reads the size of the base or the result: seven bits per byte, lowest first. Null beyond 28 bits or at the end of
 * the bytes.
 */
function readSize(reader: Reader): number | null {
  let size = 0
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = reader.delta[reader.at++]
    if (byte === undefined) return null
    size += (byte & 0x7f) << shift
    if (byte < 0x80) return size
  }
  return null
}

function readPiece(reader: Reader, base: Uint8Array): Uint8Array | null {
  const { delta } = reader
  const code = delta[reader.at++] ?? 0
  if (code === 0) return null
  if (code < 0x80) {
    const inserted = delta.subarray(reader.at, reader.at + code)
    reader.at += code
    return inserted.length === code ? inserted : null
  }
  const offset = readBytes(reader, code & 0x0f)
  const length = readBytes(reader, (code >> 4) & 0x07) || 0x10000
  const copied = base.subarray(offset, offset + length)
  return reader.at <= delta.length && copied.length === length ? copied : null
}

/**
 * Reads the offset or length of a copy instruction: up to four little-endian bytes. `mask` selects the bytes that are
 * present; the others are zero.
 */
function readBytes(reader: Reader, mask: number): number {
  let value = 0
  for (let i = 0; i < 4; i++) {
    if ((mask & (1 << i)) !== 0) value += (reader.delta[reader.at++] ?? 0) * 2 ** (8 * i)
  }
  return value
}
