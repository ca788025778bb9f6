/** Head of a WebSocket frame (RFC 6455) without extensions. The parser is strict: an ambiguous head is a problem. */
export type FrameHead = {
  readonly isFinal: boolean
  readonly opcode: number
  readonly isMasked: boolean
  /** Number of bytes of the head, including the masking key. */
  readonly size: number
  /** Number of bytes of the payload. */
  readonly length: number
}

export type FrameProblem = { readonly problem: string }

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const KNOWN: ReadonlySet<number> = new Set(Object.values(OPCODE))
const MASK_BYTES = 4
const MAX_CONTROL_BYTES = 125
const MAX_SHORT = 65_535
/** Maximum number of bytes of a frame head. */
const MAX_HEAD_BYTES = 14

export function isControl(opcode: number): boolean {
  return opcode >= OPCODE.close
}

/** Parses the head of the frame at the start of the bytes; null if the head is incomplete. */
export function readFrameHead(bytes: Uint8Array): FrameHead | FrameProblem | null {
  const [first, second] = bytes
  if (first === undefined || second === undefined) return null
  const wrong = judgeFirst(first, second & 0x7f)
  if (wrong !== null) return { problem: wrong }
  const isMasked = (second & 0x80) !== 0
  const lengthBytes = lengthBytesOf(second & 0x7f)
  const size = 2 + lengthBytes + (isMasked ? MASK_BYTES : 0)
  if (bytes.length < size) return null
  const length = readLength(bytes, lengthBytes, second & 0x7f)
  if (length === null) return { problem: 'a frame has a length that is too long or not in its shortest form' }
  return { isFinal: (first & 0x80) !== 0, opcode: first & 0x0f, isMasked, size, length }
}

function judgeFirst(first: number, shortLength: number): string | null {
  const opcode = first & 0x0f
  if ((first & 0x70) !== 0) return 'a frame has a reserved bit set, although no extension was negotiated'
  if (!KNOWN.has(opcode)) return `a frame has the unknown opcode ${opcode}`
  if (!isControl(opcode)) return null
  if ((first & 0x80) === 0) return 'a control frame is fragmented'
  return shortLength > MAX_CONTROL_BYTES ? 'a control frame is longer than 125 bytes' : null
}

function lengthBytesOf(shortLength: number): number {
  if (shortLength === 127) return 8
  return shortLength === 126 ? 2 : 0
}

function readLength(bytes: Uint8Array, lengthBytes: number, shortLength: number): number | null {
  if (lengthBytes === 0) return shortLength
  let length = 0
  for (let at = 2; at < 2 + lengthBytes; at++) length = length * 256 + (bytes[at] ?? 0)
  const least = lengthBytes === 2 ? MAX_CONTROL_BYTES : MAX_SHORT
  return Number.isSafeInteger(length) && length > least ? length : null
}

/** Encodes one unfragmented frame. With a key of four bytes the payload is masked, as RFC 6455 requires of clients. */
export function encodeFrame(opcode: number, payload: Uint8Array, key: Uint8Array | null): Uint8Array {
  const head = new Uint8Array(MAX_HEAD_BYTES)
  head[0] = 0x80 | opcode
  let size = 2 + writeLength(head, payload.length)
  if (key !== null) {
    head[1] = (head[1] ?? 0) | 0x80
    head.set(key, size)
    size += MASK_BYTES
  }
  const frame = new Uint8Array(size + payload.length)
  frame.set(head.subarray(0, size))
  frame.set(payload, size)
  if (key !== null) applyMask(frame.subarray(size), key, 0)
  return frame
}

/** Writes the payload length, and returns the number of bytes that it takes after the first two bytes of the head. */
function writeLength(head: Uint8Array, length: number): number {
  const lengthBytes = length > MAX_SHORT ? 8 : length > MAX_CONTROL_BYTES ? 2 : 0
  head[1] = lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127
  let rest = length
  for (let at = 1 + lengthBytes; at > 1 && lengthBytes > 0; at--) {
    head[at] = rest % 256
    rest = Math.floor(rest / 256)
  }
  return lengthBytes
}

/** Masks or unmasks the bytes in place. `offset` is the position of the first byte in the payload. */
export function applyMask(bytes: Uint8Array, key: Uint8Array, offset: number): void {
  const start = Math.min((MASK_BYTES - (bytes.byteOffset % MASK_BYTES)) % MASK_BYTES, bytes.length)
  const words = Math.floor((bytes.length - start) / MASK_BYTES)
  // Without whole words, the view may begin at an offset that is not a multiple of four, and `Uint32Array` would reject
  // that offset.
  if (words === 0) {
    maskBytes(bytes, key, offset)
    return
  }
  maskBytes(bytes.subarray(0, start), key, offset)
  maskWords(new Uint32Array(bytes.buffer, bytes.byteOffset + start, words), key, offset + start)
  const end = start + words * MASK_BYTES
  maskBytes(bytes.subarray(end), key, offset + end)
}

function maskBytes(bytes: Uint8Array, key: Uint8Array, offset: number): void {
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = (bytes[at] ?? 0) ^ (key[(offset + at) % MASK_BYTES] ?? 0)
  }
}

/**
 * Masks four bytes at a time, which is several times as fast as single bytes. The key is rotated to the offset of the
 * first word.
 */
function maskWords(words: Uint32Array, key: Uint8Array, offset: number): void {
  const turned = Uint8Array.from({ length: MASK_BYTES }, (_, at) => key[(offset + at) % MASK_BYTES] ?? 0)
  const word = new Uint32Array(turned.buffer)[0] ?? 0
  for (let at = 0; at < words.length; at++) words[at] = (words[at] ?? 0) ^ word
}
