import { crc32 } from 'node:zlib'

/**
 * Phase of a segment line such as `{"phase":"intent","record":{…},"crc":"0123abcd"}`. `intent`, `result`: a record
 * before and after its request. `tally`: counters of an aggregate record, whose full form is the last intent with its
 * id. `dropped`: the intent is void, because an aggregate record counts its request or the request was refused.
 * `sequence`, `lost`: sequence numbers of the process whose id is `id`.
 */
export type Phase = 'intent' | 'result' | 'tally' | 'dropped' | 'sequence' | 'lost'

const PREFIX = {
  intent: '{"phase":"intent","record":',
  result: '{"phase":"result","record":',
  tally: '{"phase":"tally","record":',
  dropped: '{"phase":"dropped","record":',
  sequence: '{"phase":"sequence","record":',
  lost: '{"phase":"lost","record":',
} as const satisfies Record<Phase, string>

export function line(phase: Phase, recordJson: string): string {
  const start = PREFIX[phase] + recordJson
  return `${start}${lineEnd(start)}`
}

/** Returns the end of a line, with the CRC-32 of everything before it. */
export function lineEnd(start: string | Uint8Array): string {
  return `,"crc":"${crc32(start).toString(16).padStart(8, '0')}"}\n`
}

/** Length of the end of a line without its line break. */
const END_LENGTH = ',"crc":"00000000"}'.length
const CRC_DIGITS = 8
const AFTER_CRC = '"}'.length

/**
 * Returns the record of a result as JSON; null for another phase. The caller must have verified the checksum, so that
 * the line begins with a known phase.
 */
export function resultOf(line: Buffer): Buffer | null {
  if (line[PHASE_AT] !== RESULT_INITIAL) return null
  return line.subarray(PREFIX.result.length, line.length - END_LENGTH)
}

const PHASE_AT = '{"phase":"'.length
/** First letter of the phase `result`. No other phase begins with this letter. */
const RESULT_INITIAL = 'r'.charCodeAt(0)

/** Reports whether a line, without its line break, ends with the checksum of the bytes before it. */
export function hasChecksum(line: Buffer): boolean {
  const at = line.length - AFTER_CRC - CRC_DIGITS
  if (at < 0) return false
  let crc = 0
  for (let digit = at; digit < at + CRC_DIGITS; digit++) crc = crc * 16 + hexDigit(line[digit] ?? 0)
  return crc === crc32(line.subarray(0, line.length - END_LENGTH))
}

/** Returns the value of a lower-case digit; NaN for another byte. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  return byte >= 0x61 && byte <= 0x66 ? byte - 0x57 : Number.NaN
}

/** Matches the id, the first field of a record that `recordJson` has written. */
const ID = /^\{"id":"([\w-]+)"/
const MAX_ID = 128

/** Returns the id of a record in JSON; null unless the id is the first field and needs no JSON escapes. */
export function plainIdOf(recordJson: Buffer): string | null {
  return ID.exec(recordJson.toString('latin1', 0, MAX_ID))?.[1] ?? null
}

/** Returns the id of a record in JSON; an empty string if it has none. */
export function recordIdOf(recordJson: Buffer): string {
  const plain = plainIdOf(recordJson)
  if (plain !== null) return plain
  const record: unknown = JSON.parse(recordJson.toString())
  return hasId(record) ? record.id : ''
}

const PHASES = ['result', 'intent', 'tally', 'dropped', 'sequence', 'lost'] as const

export type ParsedLine = {
  readonly phase: Phase
  readonly record: { readonly id: string; readonly seq?: unknown; readonly process_id?: unknown }
  readonly json: string
}

/** Parses a line of a segment. Returns null for a line that was truncated, or whose checksum differs. */
export function parseLine(raw: string): ParsedLine | null {
  const phase = PHASES.find((each) => raw.startsWith(PREFIX[each]))
  const start = startOf(raw)
  if (phase === undefined || start === null) return null
  const json = start.slice(PREFIX[phase].length)
  try {
    const record: unknown = JSON.parse(json)
    return hasId(record) ? { phase, record, json } : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/**
 * Returns a line without its end; null if the checksum differs. A line of an earlier version has no checksum, and ends
 * with the braces of its record and of the line. A truncated line with a checksum may also end with two braces, but
 * then contains no valid JSON.
 */
function startOf(raw: string): string | null {
  const start = raw.slice(0, -END_LENGTH)
  if (`${raw}\n` === start + lineEnd(start)) return start
  return raw.endsWith('}}') ? raw.slice(0, -1) : null
}

function hasId(value: unknown): value is { readonly id: string } {
  return typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string'
}
