import type { BodyView } from '../../connectors/connector.ts'
import { type BodyInfo, isRefusal, type Refusal, refusal } from '../canonical.ts'
import { fold, parseStrictJson } from '../json/strict-json.ts'
import { judgePairs } from '../method-override.ts'
import { judgePairCount, readPairs } from '../target.ts'

/**
 * Parses a whole body as far as a classification can depend on it. Refuses an encoding other than identity and a
 * charset other than UTF-8 (415), a body with too many fields or values (413), and invalid UTF-8, form fields that
 * override the method, or JSON that two parsers could read differently (400). A body with the media type of JSON that
 * is not JSON is `invalid`. Bodies of media types that never determine the action (multipart, octet-stream, none) are
 * `opaque`.
 */
export function parseBody(
  bytes: Uint8Array,
  info: BodyInfo,
  decidingKeys: readonly string[],
): BodyView | Refusal {
  if (bytes.length === 0) return { kind: 'absent' }
  const unread = judgeLabel(info)
  if (unread !== null) return unread
  const format = formatOf(info.mediaType)
  if (format === 'opaque') return { kind: 'opaque', bytes }
  const text = decodeUtf8(bytes)
  if (text === null) return refusal('malformed_request', 'the body is not valid UTF-8')
  return format === 'json' ? readJson(text, decidingKeys) : readForm(text, bytes)
}

/**
 * Returns the reason why the gateway does not parse a body with this encoding, charset and media type, regardless of
 * its bytes. Null if the gateway parses the body or the media type needs no parsing.
 */
export function judgeLabel({ encoding, charset, mediaType }: BodyInfo): Refusal | null {
  if (encoding !== undefined) {
    return refusal(
      'unsupported_body',
      `the body is ${encoding}-encoded; send the body without Content-Encoding`,
    )
  }
  if (formatOf(mediaType) === 'opaque' || isUtf8(charset)) return null
  return refusal('unsupported_body', `the body's charset is ${charset}; send UTF-8`)
}

/** Reports whether the body has the media type of JSON, is in UTF-8 and has no content encoding. */
export function isPlainJson(info: BodyInfo): boolean {
  return formatOf(info.mediaType) === 'json' && judgeLabel(info) === null
}

function isUtf8(charset: string | undefined): boolean {
  return charset === undefined || charset === 'utf-8' || charset === 'utf8'
}

/** Returns the format of a media type (lower case, without parameters). */
export function formatOf(mediaType: string | undefined): 'json' | 'form' | 'opaque' {
  if (mediaType === undefined) return 'opaque'
  if (mediaType === 'application/json' || /^[a-z]+\/[^\s/+]+\+json$/.test(mediaType)) return 'json'
  return mediaType === 'application/x-www-form-urlencoded' ? 'form' : 'opaque'
}

// The decoder keeps a byte order mark, so that the parser detects and refuses it.
const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return STRICT_UTF8.decode(bytes)
  } catch {
    return null
  }
}

function readJson(text: string, decidingKeys: readonly string[]): BodyView | Refusal {
  const parsed = parseStrictJson(text, decidingKeys)
  if (!isRefusal(parsed)) return { kind: 'json', value: parsed.value }
  if (parsed.code !== 'malformed_request') return parsed
  return { kind: 'invalid', detail: parsed.detail, text }
}

function readForm(text: string, bytes: Uint8Array): BodyView | Refusal {
  const tooMany = judgePairCount(text)
  if (tooMany !== null) return tooMany
  const fields = readPairs(text)
  if (isRefusal(fields)) return fields
  return judgePairs(fields, text, 'form field') ?? { kind: 'form', fields, bytes }
}

/**
 * Scan of the chunks of a streamed JSON body for top-level scalars. The traffic record uses its result. Decisions never
 * use it.
 */
export type KeyScan = {
  push(chunk: Uint8Array): void
  /**
   * Returns the values of the requested keys found so far. An object or a list is represented by an empty object. A
   * long string is absent.
   */
  seen(): ReadonlyMap<string, unknown>
  /**
   * True once every requested key was found, the object ended, or the text proved not to be a JSON object. Further
   * chunks can still make the scan ambiguous.
   */
  readonly isDone: boolean
  /** True once the root object ended. */
  readonly isClosed: boolean
  /**
   * True if a server may read other values than the scan: a key is repeated or has another spelling, a value is too
   * long or truncated, or the text is not a JSON object.
   */
  readonly isAmbiguous: boolean
}

const MAX_TOKEN_BYTES = 256

type State = {
  /** Requested keys by their folded spelling (see `fold`). */
  readonly wanted: ReadonlyMap<string, string>
  readonly found: Map<string, unknown>
  readonly sighted: Set<string>
  depth: number
  inString: boolean
  isEscaped: boolean
  /** Role of the current token at depth 1: `key` before the colon, `value` after it. */
  role: 'key' | 'value'
  key: string | null
  /**
   * Bytes of the current token at depth 1. Null if the token is too long, or is the value of a key that is not
   * requested.
   */
  token: number[] | null
  /** True if the value of the current key is an object or a list. */
  isNested: boolean
  isClosed: boolean
  isAmbiguous: boolean
  /** True if the text is not a JSON object. */
  isBroken: boolean
}

/**
 * Creates a scan for top-level keys such as `stream`. The scan passes once over the bytes, and copies only short keys
 * and the values of requested keys.
 */
export function createKeyScan(keys: readonly string[]): KeyScan {
  const state: State = {
    wanted: new Map(keys.map((key) => [fold(key), key])),
    found: new Map(),
    sighted: new Set(),
    depth: 0,
    inString: false,
    isEscaped: false,
    role: 'key',
    key: null,
    token: [],
    isNested: false,
    isClosed: false,
    isAmbiguous: false,
    isBroken: false,
  }
  return {
    push(chunk) {
      for (let i = 0; i < chunk.length && !state.isBroken; i++) take(state, chunk[i] ?? 0)
    },
    seen: () => state.found,
    get isDone() {
      return state.isClosed || state.isBroken || state.found.size === state.wanted.size
    },
    get isClosed() {
      return state.isClosed
    },
    get isAmbiguous() {
      return state.isAmbiguous || state.isBroken || isCut(state)
    },
  }
}

/** Reports whether the bytes so far end inside a key, or inside the value of a requested key. */
function isCut({ isClosed, depth, role, key, token }: State): boolean {
  if (isClosed || depth === 0) return false
  return key !== null || (depth === 1 && role === 'key' && token !== null && token.length > 0)
}

function take(state: State, byte: number): void {
  if (state.inString) takeInString(state, byte)
  else if (!isSpace(byte)) takeOutside(state, byte)
}

function takeInString(state: State, byte: number): void {
  keep(state, byte)
  if (state.isEscaped) state.isEscaped = false
  else if (byte === 0x5c) state.isEscaped = true
  else if (byte === 0x22) state.inString = false
}

function takeOutside(state: State, byte: number): void {
  // The text is not a JSON object if this byte is before or after the object, or if JSON does not contain the byte
  // outside of strings (comments, other quotes, bare words).
  if (state.isClosed || (state.depth === 0 && byte !== 0x7b) || OUTSIDE_STRINGS[byte] !== 1) {
    state.isBroken = true
  } else if (byte === 0x22) {
    state.inString = true
    keep(state, byte)
  } else structure(state, byte)
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/**
 * Table of the bytes that JSON contains outside of strings: structure, numbers, and the letters of `true`, `false` and
 * `null`.
 */
const OUTSIDE_STRINGS = new Uint8Array(256)
for (const char of '{}[]:,"0123456789+-.eEtrufalsn') OUTSIDE_STRINGS[char.charCodeAt(0)] = 1

function structure(state: State, byte: number): void {
  if (byte === 0x7b || byte === 0x5b) open(state)
  else if (byte === 0x7d || byte === 0x5d) close(state)
  else if (state.depth === 1) separate(state, byte)
}

function open(state: State): void {
  state.depth += 1
  if (state.depth === 1) return
  if (state.depth === 2 && state.role === 'key') state.isBroken = true
  if (state.depth === 2) state.isNested = true
  state.token = null
}

function close(state: State): void {
  if (state.depth === 1) finishMember(state)
  state.depth -= 1
  if (state.depth === 0) state.isClosed = true
}

function separate(state: State, byte: number): void {
  if (byte === 0x3a && state.role === 'key') {
    state.key = wantedKey(state)
    state.role = 'value'
    state.token = state.key === null ? null : []
  } else if (byte === 0x2c) finishMember(state)
  else keep(state, byte)
}

/**
 * Returns the requested key that equals the token; null if there is none. A token that another parser could read as a
 * requested key makes the scan ambiguous.
 */
function wantedKey(state: State): string | null {
  if (state.token === null) return null
  const text = parseToken(state.token)
  if (typeof text !== 'string' || text.includes('\0')) {
    state.isAmbiguous = true
    return null
  }
  const key = state.wanted.get(fold(text))
  if (key === undefined) return null
  if (key !== text || state.sighted.has(key)) state.isAmbiguous = true
  state.sighted.add(key)
  return key
}

const NESTED = Object.freeze({})

function finishMember(state: State): void {
  if (state.key !== null) {
    const value = state.isNested ? NESTED : parseToken(state.token)
    if (value === undefined) state.isAmbiguous = true
    else state.found.set(state.key, value)
  }
  state.isNested = false
  state.role = 'key'
  state.key = null
  state.token = []
}

function keep(state: State, byte: number): void {
  if (state.depth !== 1 || state.token === null) return
  if (state.token.length >= MAX_TOKEN_BYTES) state.token = null
  else state.token.push(byte)
}

function parseToken(token: number[] | null): unknown {
  if (token === null || token.length === 0) return undefined
  try {
    return JSON.parse(STRICT_UTF8.decode(new Uint8Array(token)))
  } catch {
    return undefined
  }
}
