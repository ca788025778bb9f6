import type { Duplex } from 'node:stream'

/**
 * Frames that were received on one HTTP/2 stream: the status (the only decoded header field), the data, or the error code of
 * RST_STREAM.
 */
export type RawStream = {
  readonly status: number | null
  readonly body: string
  readonly reset: number | null
  readonly isEnded: boolean
}
export type RawSession = {
  /** Received streams by stream id. A stream without received frames is absent. */
  readonly streams: ReadonlyMap<number, RawStream>
  /** Error code of a received GOAWAY frame; null without such a frame. */
  readonly goaway: number | null
  readonly isClosed: boolean
}

export const TYPE = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const
export const FLAG = { endStream: 1, endHeaders: 4 } as const

const MAX_FRAME = 16_384

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/**
 * Encodes HPACK header fields as literals without indexing and without Huffman coding. Names and values can contain any byte.
 */
export function fields(pairs: ReadonlyArray<readonly [string, string]>): Buffer {
  return Buffer.concat(pairs.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]))
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1')
  return Buffer.concat([integer(bytes.length), bytes])
}

/** Encodes an HPACK integer with a prefix of 7 bits (RFC 7541, 5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.from([value])
  const bytes = [127]
  let rest = value - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

export function headersFrame(
  stream: number,
  pairs: ReadonlyArray<readonly [string, string]>,
  options: { readonly isEnd?: boolean } = {},
): Buffer {
  const block = fields(pairs)
  const end = options.isEnd === false ? 0 : FLAG.endStream
  if (block.length <= MAX_FRAME) return frame(TYPE.headers, FLAG.endHeaders | end, stream, block)
  return Buffer.concat([
    frame(TYPE.headers, end, stream, block.subarray(0, MAX_FRAME)),
    frame(TYPE.continuation, FLAG.endHeaders, stream, block.subarray(MAX_FRAME)),
  ])
}

export const PREFACE = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  frame(TYPE.settings, 0, 0),
  frame(TYPE.settings, 1, 0),
])

/** Writes frames and reads until `isEnough` returns true, the connection ends, or `timeoutMs` have passed. */
export function speakHttp2(
  socket: Duplex,
  frames: readonly Buffer[],
  isEnough: (session: RawSession) => boolean,
  timeoutMs = 20_000,
): Promise<RawSession> {
  const streams = new Map<number, RawStream>()
  const state = { goaway: null as number | null, isClosed: false, unread: Buffer.alloc(0) as Buffer }
  const session = (): RawSession => ({ streams, goaway: state.goaway, isClosed: state.isClosed })
  return new Promise((resolve) => {
    const settle = () => {
      clearTimeout(timer)
      resolve(session())
    }
    const timer = setTimeout(settle, timeoutMs)
    const closed = () => {
      state.isClosed = true
      settle()
    }
    socket.on('data', (chunk: Buffer) => {
      state.unread = takeFrames(Buffer.concat([state.unread, chunk]), streams, (code) => {
        state.goaway = code
      })
      if (isEnough(session())) settle()
    })
    socket.on('error', closed).on('end', closed).on('close', closed)
    socket.write(Buffer.concat([PREFACE, ...frames]))
  })
}

const NOTHING: RawStream = { status: null, body: '', reset: null, isEnded: false }

function takeFrames(
  bytes: Buffer,
  streams: Map<number, RawStream>,
  onGoaway: (code: number) => void,
): Buffer {
  let at = 0
  while (bytes.length - at >= 9) {
    const length = bytes.readUIntBE(at, 3)
    if (bytes.length - at < 9 + length) break
    const type = bytes.readUInt8(at + 3)
    const flags = bytes.readUInt8(at + 4)
    const stream = bytes.readUInt32BE(at + 5)
    const payload = bytes.subarray(at + 9, at + 9 + length)
    at += 9 + length
    if (type === TYPE.goaway) onGoaway(payload.readUInt32BE(4))
    if (stream === 0) continue
    const known = streams.get(stream) ?? NOTHING
    const isEnded = known.isEnded || (flags & FLAG.endStream) !== 0
    if (type === TYPE.headers)
      streams.set(stream, { ...known, status: known.status ?? statusOf(payload), isEnded })
    if (type === TYPE.data)
      streams.set(stream, { ...known, body: known.body + payload.toString('latin1'), isEnded })
    if (type === TYPE.reset) streams.set(stream, { ...known, reset: payload.readUInt32BE(0) })
  }
  return bytes.subarray(at)
}

const INDEXED: Readonly<Record<number, number>> = {
  8: 200,
  9: 204,
  10: 206,
  11: 304,
  12: 400,
  13: 404,
  14: 500,
}

/**
 * Decodes `:status`, the first header field of a response: an index of the static table, or a literal value with the name of
 * index 8.
 */
function statusOf(block: Buffer): number | null {
  const first = block[0] ?? 0
  if (first >= 0x80) return INDEXED[first & 0x7f] ?? null
  const isStatus = first === 0x48 || first === 0x08 || first === 0x18
  if (!isStatus) return null
  const head = block[1] ?? 0
  const value = block.subarray(2, 2 + (head & 0x7f))
  return Number((head & 0x80) === 0 ? value.toString('latin1') : digitsOf(value))
}

/** Decodes Huffman-coded digits (RFC 7541, appendix B). The codes of 0 to 2 have five bits, those of the other digits six. */
function digitsOf(bytes: Buffer): string {
  let bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  let digits = ''
  while (digits.length < 3 && bits.length >= 5) {
    const short = Number.parseInt(bits.slice(0, 5), 2)
    const isShort = short <= 2
    digits += isShort ? short : Number.parseInt(bits.slice(0, 6), 2) - 22
    bits = bits.slice(isShort ? 5 : 6)
  }
  return digits
}
