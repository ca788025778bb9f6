const PREFACE_BYTES = 24
const FRAME_HEAD_BYTES = 9
/** Maximum frame length: the initial SETTINGS_MAX_FRAME_SIZE. */
const MAX_FRAME_BYTES = FRAME_HEAD_BYTES + 16_384
const HEADERS = 1
const CONTINUATION = 9
const END_HEADERS = 0x4
const PADDED = 0x8
const PRIORITY = 0x20
/**
 * `MAX_BLOCK_BYTES`: maximum length of a header block in bytes. `MAX_UNTAKEN`: maximum number of streams whose counts
 * the caller has not read with `take`. The limits of nghttp2 for header blocks and concurrent streams are far lower.
 */
const MAX_BLOCK_BYTES = 1_048_576
const MAX_UNTAKEN = 16_384
/**
 * Maximum number of bytes of an integer after its prefix. Five bytes can already exceed any length that fits into a
 * frame.
 */
const MAX_INTEGER_BYTES = 5

/**
 * Counts the field lines of each request on an HTTP/2 connection (RFC 9113 section 4, RFC 7541 section 6). nghttp2
 * silently drops field lines with a forbidden name or value (RFC 9113 section 8.2.1). A lower count from the library
 * reveals the dropped lines. Names and values are not decoded.
 */
export class Http2FieldCounter {
  readonly #counts = new Map<number, number>()
  #unread: Uint8Array = new Uint8Array()
  #skip = PREFACE_BYTES
  #block: { readonly stream: number; readonly parts: Uint8Array[]; bytes: number } | null = null
  #isBroken = false

  /** Processes the next bytes from the client. The stream may be split into chunks at any position. */
  read(chunk: Uint8Array): void {
    if (this.#isBroken) return
    let bytes = this.#unread.length === 0 ? chunk : joined([this.#unread, chunk])
    for (let rest = this.#readOne(bytes); rest !== null; rest = this.#readOne(bytes)) bytes = rest
    // The bytes are copied, because the reader of the socket may reuse its buffer.
    this.#unread = new Uint8Array(bytes)
  }

  /**
   * Returns the number of field lines in the header list of this stream, including pseudo-header fields; null if
   * unknown. Discards the counts of streams with lower numbers, which the library did not report.
   */
  take(stream: number): number | null {
    const count = this.#counts.get(stream) ?? null
    for (const id of this.#counts.keys()) if (id <= stream) this.#counts.delete(id)
    return this.#isBroken ? null : count
  }

  /**
   * Processes one frame, or skips the available part of a frame without a header block. Returns the remaining bytes;
   * null if the frame is incomplete.
   */
  #readOne(bytes: Uint8Array): Uint8Array | null {
    const skipped = Math.min(this.#skip, bytes.length)
    this.#skip -= skipped
    if (skipped > 0) return bytes.subarray(skipped)
    if (bytes.length < FRAME_HEAD_BYTES) return null
    const size = FRAME_HEAD_BYTES + uint24(bytes)
    if (bytes[3] !== HEADERS && bytes[3] !== CONTINUATION) {
      this.#skip = size
      return bytes
    }
    if (size <= MAX_FRAME_BYTES && bytes.length < size) return null
    if (size > MAX_FRAME_BYTES || !this.#addFragment(bytes.subarray(0, size))) this.#break()
    return bytes.subarray(size)
  }

  #addFragment(frame: Uint8Array): boolean {
    const flags = frame[4] ?? 0
    const stream = uint31(frame.subarray(5))
    const isFirst = frame[3] === HEADERS
    const fragment = isFirst ? fragmentOf(frame, flags) : frame.subarray(FRAME_HEAD_BYTES)
    if (isFirst) this.#block = { stream, parts: [], bytes: 0 }
    const block = this.#block
    if (fragment === null || block === null || block.stream !== stream) return false
    block.parts.push(new Uint8Array(fragment))
    block.bytes += fragment.length
    if (block.bytes > MAX_BLOCK_BYTES) return false
    return (flags & END_HEADERS) === 0 || this.#endBlock(stream, joined(block.parts))
  }

  /**
   * Stores the number of field lines in a stream's header list. Ignores the second list of a stream: it contains
   * trailers, which the gateway does not forward.
   */
  #endBlock(stream: number, block: Uint8Array): boolean {
    this.#block = null
    const count = countFieldLines(block)
    if (count === null) return false
    if (!this.#counts.has(stream)) this.#counts.set(stream, count)
    return this.#counts.size <= MAX_UNTAKEN
  }

  #break(): void {
    this.#isBroken = true
    this.#counts.clear()
    this.#block = null
    this.#unread = new Uint8Array()
  }
}

/** Returns the number of field lines of a header block; null for an invalid block. */
export function countFieldLines(block: Uint8Array): number | null {
  const cursor = { block, at: 0 }
  let count = 0
  while (cursor.at < block.length) {
    const first = block[cursor.at] ?? 0
    const isSizeUpdate = (first & 0xe0) === 0x20
    if (!skipLine(cursor, first)) return null
    if (!isSizeUpdate) count += 1
  }
  return count
}

type Cursor = { readonly block: Uint8Array; at: number }

function skipLine(cursor: Cursor, first: number): boolean {
  if ((first & 0x80) !== 0) return integer(cursor, 7) !== null
  if ((first & 0xe0) === 0x20) return integer(cursor, 5) !== null
  const name = integer(cursor, (first & 0x40) !== 0 ? 6 : 4)
  if (name === null) return false
  return (name !== 0 || skipText(cursor)) && skipText(cursor)
}

function skipText(cursor: Cursor): boolean {
  const length = integer(cursor, 7)
  if (length === null || length > cursor.block.length - cursor.at) return false
  cursor.at += length
  return true
}

/** Decodes an integer with a prefix of `prefix` bits in its first byte (RFC 7541 section 5.1). */
function integer(cursor: Cursor, prefix: number): number | null {
  const { block } = cursor
  const most = 2 ** prefix - 1
  if (cursor.at >= block.length) return null
  let value = (block[cursor.at++] ?? 0) & most
  if (value < most) return value
  for (let i = 0; i < MAX_INTEGER_BYTES && cursor.at < block.length; i++) {
    const byte = block[cursor.at++] ?? 0
    value += (byte & 0x7f) * 2 ** (7 * i)
    if ((byte & 0x80) === 0) return value
  }
  return null
}

/**
 * Returns the header block fragment of a HEADERS frame, without padding and priority; null for inconsistent lengths.
 */
function fragmentOf(frame: Uint8Array, flags: number): Uint8Array | null {
  const isPadded = (flags & PADDED) !== 0
  const padding = isPadded ? (frame[FRAME_HEAD_BYTES] ?? 0) : 0
  const start = FRAME_HEAD_BYTES + (isPadded ? 1 : 0) + ((flags & PRIORITY) !== 0 ? 5 : 0)
  const end = frame.length - padding
  return start <= end ? frame.subarray(start, end) : null
}

function uint24(bytes: Uint8Array): number {
  return (bytes[0] ?? 0) * 65_536 + (bytes[1] ?? 0) * 256 + (bytes[2] ?? 0)
}

function uint31(bytes: Uint8Array): number {
  return ((bytes[0] ?? 0) & 0x7f) * 16_777_216 + uint24(bytes.subarray(1))
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
