/** The few DER encodings that a certificate needs. Everything is a Buffer of complete tag-length-value elements. */

const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** One element: tag, definite length, content. */
export function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return element(TAG.sequence, ...parts)
}

export function set(...parts: readonly Uint8Array[]): Buffer {
  return element(TAG.set, ...parts)
}

/** A non-negative integer from its big-endian bytes. */
export function unsigned(bytes: Uint8Array): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const magnitude = bytes.subarray(start)
  const isHigh = ((magnitude[0] ?? 0) & 0x80) !== 0
  return isHigh ? element(TAG.integer, Buffer.from([0]), magnitude) : element(TAG.integer, magnitude)
}

export function boolean(value: boolean): Buffer {
  return element(TAG.boolean, Buffer.from([value ? 0xff : 0]))
}

/** Whole bytes, or with `unusedBits` bits at the end that do not count. */
export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return element(TAG.bitString, Buffer.from([unusedBits]), bytes)
}

export function octetString(bytes: Uint8Array): Buffer {
  return element(TAG.octetString, bytes)
}

/** Dotted decimal, e.g. `2.5.29.17`. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const arc of rest) bytes.push(...base128(arc))
  return element(TAG.oid, Buffer.from(bytes))
}

export function utf8String(text: string): Buffer {
  return element(TAG.utf8String, Buffer.from(text, 'utf8'))
}

/** UTCTime until 2049, GeneralizedTime from 2050, as RFC 5280 wants; whole seconds. */
export function time(epochMs: number): Buffer {
  const stamp = `${new Date(epochMs).toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`
  const isShort = Number(stamp.slice(0, 4)) < 2050
  return isShort
    ? element(TAG.utcTime, Buffer.from(stamp.slice(2), 'latin1'))
    : element(TAG.generalizedTime, Buffer.from(stamp, 'latin1'))
}

/** `[n]` around whole elements. */
export function explicit(n: number, ...parts: readonly Uint8Array[]): Buffer {
  return element(0xa0 | n, ...parts)
}

/** `[n]` that replaces the tag of a primitive element. */
export function implicit(n: number, content: Uint8Array): Buffer {
  return element(0x80 | n, content)
}

export function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  if (length < 0x100) return Buffer.from([0x81, length])
  if (length < 0x10000) return Buffer.from([0x82, length >> 8, length & 0xff])
  return Buffer.from([0x83, length >> 16, (length >> 8) & 0xff, length & 0xff])
}

function base128(arc: number): number[] {
  const out = [arc & 0x7f]
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128))
    out.unshift((rest & 0x7f) | 0x80)
  return out
}
