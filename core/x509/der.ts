/**
 * Encoders for the DER values in certificates. Each of them except `ascii` returns a complete tag-length-value element.
 */

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

/** Encodes one element: tag, definite length, content. */
export function element(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const size = parts.reduce((sum, part) => sum + part.length, 0)
  const head = [tag, ...lengthOf(size)]
  const out = new Uint8Array(head.length + size)
  out.set(head)
  let at = head.length
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

export function sequence(...parts: readonly Uint8Array[]): Uint8Array {
  return element(TAG.sequence, ...parts)
}

export function set(...parts: readonly Uint8Array[]): Uint8Array {
  return element(TAG.set, ...parts)
}

/** Encodes a non-negative integer from its big-endian bytes. */
export function unsigned(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const magnitude = bytes.subarray(start)
  const isHigh = ((magnitude[0] ?? 0) & 0x80) !== 0
  return isHigh ? element(TAG.integer, Uint8Array.of(0), magnitude) : element(TAG.integer, magnitude)
}

export function boolean(value: boolean): Uint8Array {
  return element(TAG.boolean, Uint8Array.of(value ? 0xff : 0))
}

/** Encodes a BIT STRING of whole bytes. `unusedBits` is the number of ignored bits at its end. */
export function bitString(bytes: Uint8Array, unusedBits = 0): Uint8Array {
  return element(TAG.bitString, Uint8Array.of(unusedBits), bytes)
}

export function octetString(bytes: Uint8Array): Uint8Array {
  return element(TAG.octetString, bytes)
}

/** Encodes an object identifier in dotted decimal, e.g. `2.5.29.17`. */
export function oid(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const arc of rest) bytes.push(...base128(arc))
  return element(TAG.oid, Uint8Array.from(bytes))
}

export function utf8String(text: string): Uint8Array {
  return element(TAG.utf8String, new TextEncoder().encode(text))
}

/** Encodes a time in whole seconds: UTCTime until 2049, GeneralizedTime from 2050 (RFC 5280). */
export function time(epochMs: number): Uint8Array {
  const stamp = utcStamp(epochMs)
  const isShort = Number(stamp.slice(0, 4)) < 2050
  return isShort ? element(TAG.utcTime, ascii(stamp.slice(2))) : element(TAG.generalizedTime, ascii(stamp))
}

/** Wraps whole elements in the explicit context tag `[n]`. */
export function explicit(n: number, ...parts: readonly Uint8Array[]): Uint8Array {
  return element(0xa0 | n, ...parts)
}

/** Replaces the tag of a primitive element with the implicit context tag `[n]`. */
export function implicit(n: number, content: Uint8Array): Uint8Array {
  return element(0x80 | n, content)
}

export function pem(label: string, der: Uint8Array): string {
  const lines = btoa(Array.from(der, (byte) => String.fromCharCode(byte)).join('')).match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/** Returns a time in UTC in the form `20270131120000Z`. */
function utcStamp(epochMs: number): string {
  const seconds = Math.floor(epochMs / 1000)
  const days = Math.floor(seconds / 86_400)
  const [year, month, day] = civilDate(days)
  const rest = seconds - days * 86_400
  const parts = [month, day, Math.floor(rest / 3600), Math.floor(rest / 60) % 60, rest % 60]
  return `${String(year).padStart(4, '0')}${parts.map((part) => String(part).padStart(2, '0')).join('')}Z`
}

/**
 * Returns year, month and day of the Gregorian calendar. Years begin in March internally, so that the leap day is the
 * last day of a year.
 */
function civilDate(daysSinceEpoch: number): [number, number, number] {
  const shifted = daysSinceEpoch + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  return [year, month, dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1]
}

/** Returns one byte per character. Characters must not exceed U+00FF, because they would be truncated. */
export function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length]
  if (length < 0x100) return [0x81, length]
  if (length < 0x10000) return [0x82, length >> 8, length & 0xff]
  return [0x83, length >> 16, (length >> 8) & 0xff, length & 0xff]
}

function base128(arc: number): number[] {
  const out = [arc & 0x7f]
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128))
    out.unshift((rest & 0x7f) | 0x80)
  return out
}
