export type ClientHello =
  | { readonly kind: 'incomplete' }
  /** The bytes are not a ClientHello. The TLS library then reads the bytes and produces the error. */
  | { readonly kind: 'invalid' }
  | { readonly kind: 'hello'; readonly serverName: string | null }

const INCOMPLETE: ClientHello = { kind: 'incomplete' }
const INVALID: ClientHello = { kind: 'invalid' }
const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0
/** Maximum size of a ClientHello in bytes. Post-quantum key shares take about 2 KiB. */
const MAX_HELLO_BYTES = 32 * 1024
/**
 * Maximum size in bytes including record headers. A client may send each byte in a record of its own, with a header of
 * 5 bytes.
 */
const MAX_BYTES = 6 * MAX_HELLO_BYTES

/**
 * Reads the server name of the ClientHello at the start of `bytes`, even if the ClientHello spans several records.
 * Reading the name before the handshake avoids the SNI callback and an unused default certificate.
 */
export function readClientHello(bytes: Buffer): ClientHello {
  const { message, isEnded } = handshakeMessage(bytes)
  const unfinished = isEnded || bytes.length > MAX_BYTES ? INVALID : INCOMPLETE
  if (message.length < 4) return unfinished
  if (message[0] !== CLIENT_HELLO) return INVALID
  const length = message.readUIntBE(1, 3)
  if (length > MAX_HELLO_BYTES) return INVALID
  if (message.length < 4 + length) return unfinished
  try {
    return { kind: 'hello', serverName: serverNameOf(message.subarray(4, 4 + length)) }
  } catch (error) {
    // A length field exceeds the buffer. An error of another type is a bug.
    if (error instanceof RangeError) return INVALID
    throw error
  }
}

type Handshake = {
  readonly message: Buffer
  /** True when a record of another type follows, after which the ClientHello cannot become complete. */
  readonly isEnded: boolean
}

/** Returns the joined content of the handshake records so far. */
function handshakeMessage(bytes: Buffer): Handshake {
  const parts: Buffer[] = []
  let at = 0
  while (at < bytes.length && bytes[at] === HANDSHAKE_RECORD && at + 5 <= bytes.length) {
    const end = at + 5 + bytes.readUInt16BE(at + 3)
    parts.push(bytes.subarray(at + 5, end))
    at = end
  }
  const [only] = parts
  const message = parts.length === 1 && only !== undefined ? only : Buffer.concat(parts)
  return { message, isEnded: at < bytes.length && bytes[at] !== HANDSHAKE_RECORD }
}

/**
 * Returns the server name of a ClientHello; null without one. Layout: client version (2), random (32), session id,
 * cipher suites, compression methods, extensions. Throws RangeError for a length that exceeds the buffer, and for two
 * server names, because servers differ in the name that they use.
 */
function serverNameOf(hello: Buffer): string | null {
  let at = 34
  at += 1 + hello.readUInt8(at)
  at += 2 + hello.readUInt16BE(at)
  at += 1 + hello.readUInt8(at)
  if (at === hello.length) return null
  const end = at + 2 + hello.readUInt16BE(at)
  at += 2
  let found: string | null = null
  while (at < end) {
    const type = hello.readUInt16BE(at)
    const length = hello.readUInt16BE(at + 2)
    if (type === SERVER_NAME) {
      if (found !== null) throw new RangeError('the ClientHello has two server names')
      found = onlyHostName(hello.subarray(at + 4, at + 4 + length))
    }
    at += 4 + length
  }
  return found
}

/** Returns the host name in a list with one entry. Layout: total length (2), type 0 (1), length (2), name. */
function onlyHostName(list: Buffer): string {
  const length = list.readUInt16BE(3)
  if (list.readUInt8(2) !== 0 || list.length !== 5 + length || list.readUInt16BE(0) !== 3 + length)
    throw new RangeError('the ClientHello must have one host name')
  return list.toString('latin1', 5, 5 + length)
}
