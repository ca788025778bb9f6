export type ClientHello =
  | { readonly kind: 'incomplete' }
  /** Not a ClientHello; the TLS library is left to say so in its own words. */
  | { readonly kind: 'invalid' }
  | { readonly kind: 'hello'; readonly serverName: string | null }

const INCOMPLETE: ClientHello = { kind: 'incomplete' }
const INVALID: ClientHello = { kind: 'invalid' }
const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const SERVER_NAME = 0
/** Post-quantum key shares make hellos of 2 KiB; nothing honest comes near this. */
const MAX_HELLO_BYTES = 32 * 1024

/**
 * The server name of the ClientHello at the start of `bytes`, also when it is spread over several records. Knowing
 * it before the handshake starts saves the library's own callback and a certificate that would not be used.
 */
export function readClientHello(bytes: Buffer): ClientHello {
  const message = handshakeMessage(bytes)
  if (message === null) return INVALID
  if (message.length < 4) return INCOMPLETE
  if (message[0] !== CLIENT_HELLO) return INVALID
  const length = message.readUIntBE(1, 3)
  if (length > MAX_HELLO_BYTES) return INVALID
  if (message.length < 4 + length) return INCOMPLETE
  try {
    return { kind: 'hello', serverName: serverNameOf(message.subarray(4, 4 + length)) }
  } catch (error) {
    // A length that points behind the end; anything else is our own mistake.
    if (error instanceof RangeError) return INVALID
    throw error
  }
}

/** The content of the handshake records so far, joined; null when other records are between them. */
function handshakeMessage(bytes: Buffer): Buffer | null {
  const parts: Buffer[] = []
  let at = 0
  while (at + 5 <= bytes.length) {
    if (bytes[at] !== HANDSHAKE_RECORD) return parts.length === 0 ? null : Buffer.concat(parts)
    const end = at + 5 + bytes.readUInt16BE(at + 3)
    parts.push(bytes.subarray(at + 5, end))
    at = end
  }
  const [only] = parts
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts)
}

/** Client version (2), random (32), session id, cipher suites, compression methods, extensions. */
function serverNameOf(hello: Buffer): string | null {
  let at = 34
  at += 1 + hello.readUInt8(at)
  at += 2 + hello.readUInt16BE(at)
  at += 1 + hello.readUInt8(at)
  if (at === hello.length) return null
  const end = at + 2 + hello.readUInt16BE(at)
  at += 2
  while (at < end) {
    const type = hello.readUInt16BE(at)
    const length = hello.readUInt16BE(at + 2)
    if (type === SERVER_NAME) return firstHostName(hello.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  return null
}

/** A list with one entry: total length (2), type 0 (1), length (2), name. */
function firstHostName(list: Buffer): string | null {
  if (list.readUInt8(2) !== 0) return null
  const length = list.readUInt16BE(3)
  return list.toString('latin1', 5, 5 + length)
}
