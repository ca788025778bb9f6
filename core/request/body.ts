import type { BodyView } from '../connectors/connector.ts'
import { type BodyInfo, isRefusal, type Refusal, refusal } from './canonical.ts'
import { judgePairs } from './method-override.ts'
import { parseStrictJson } from './strict-json.ts'
import { readPairs } from './target.ts'

/**
 * Reads a whole body as far as a class can depend on it. 415 for an encoding other than identity or a charset other
 * than UTF-8; 400 for bytes that are not UTF-8 or JSON that two parsers could read differently. JSON that is no JSON
 * is `invalid`, media types that cannot decide anything (multipart, octet-stream, none) are `opaque`.
 */
export function parseBody(
  bytes: Uint8Array,
  info: BodyInfo,
  decidingKeys: readonly string[],
): BodyView | Refusal {
  if (bytes.length === 0) return { kind: 'absent' }
  if (info.encoding !== undefined) {
    return refusal(
      'unsupported_body',
      `the body is ${info.encoding}-encoded; send it without Content-Encoding`,
    )
  }
  const format = formatOf(info.mediaType)
  if (format === 'opaque') return { kind: 'opaque', bytes }
  if (info.charset !== undefined && info.charset !== 'utf-8' && info.charset !== 'utf8') {
    return refusal('unsupported_body', `the body's charset is ${info.charset}; send UTF-8`)
  }
  const text = decodeUtf8(bytes)
  if (text === null) return refusal('malformed_request', 'the body is not valid UTF-8')
  return format === 'json' ? readJson(text, decidingKeys) : readForm(text, bytes)
}

/** What a media type (lower case, without parameters) makes of a body. */
export function formatOf(mediaType: string | undefined): 'json' | 'form' | 'opaque' {
  if (mediaType === undefined) return 'opaque'
  if (mediaType === 'application/json' || /^[a-z]+\/[^\s/+]+\+json$/.test(mediaType)) return 'json'
  return mediaType === 'application/x-www-form-urlencoded' ? 'form' : 'opaque'
}

// A byte order mark is kept, so that it is seen and refused.
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
  const fields = readPairs(text)
  if (isRefusal(fields)) return fields
  return judgePairs(fields, text, 'form field') ?? { kind: 'form', fields, bytes }
}

/** Sees the chunks of a streamed JSON body pass and remembers top-level scalars. Names the record, never decides. */
export type KeyScan = {
  push(chunk: Uint8Array): void
  /** The values seen so far of the keys asked for: strings, booleans, null and numbers; cut strings are left out. */
  seen(): ReadonlyMap<string, unknown>
  /** True once every key was seen or the object ended: further chunks need not be pushed. */
  readonly isDone: boolean
}

const MAX_TOKEN_BYTES = 256

type State = {
  readonly wanted: ReadonlySet<string>
  readonly found: Map<string, unknown>
  depth: number
  inString: boolean
  isEscaped: boolean
  /** What a token at depth 1 is: a key before the colon, a value after it. */
  role: 'key' | 'value'
  key: string | null
  /** Bytes of the token under way at depth 1; null when it grew too long to matter. */
  token: number[] | null
  isDone: boolean
}

/** `keys` are top-level names such as `stream`. Costs one pass over the bytes and no copy of them. */
export function createKeyScan(keys: readonly string[]): KeyScan {
  const state: State = {
    wanted: new Set(keys),
    found: new Map(),
    depth: 0,
    inString: false,
    isEscaped: false,
    role: 'key',
    key: null,
    token: [],
    isDone: keys.length === 0,
  }
  return {
    push(chunk) {
      for (let i = 0; i < chunk.length && !state.isDone; i++) take(state, chunk[i] ?? 0)
    },
    seen: () => state.found,
    get isDone() {
      return state.isDone
    },
  }
}

function take(state: State, byte: number): void {
  if (state.inString) {
    keep(state, byte)
    if (state.isEscaped) state.isEscaped = false
    else if (byte === 0x5c) state.isEscaped = true
    else if (byte === 0x22) state.inString = false
    return
  }
  if (byte === 0x22) {
    state.inString = true
    keep(state, byte)
    return
  }
  structure(state, byte)
}

function structure(state: State, byte: number): void {
  if (byte === 0x7b || byte === 0x5b) open(state, byte)
  else if (byte === 0x7d || byte === 0x5d) close(state)
  else if (state.depth === 1) separate(state, byte)
}

function open(state: State, byte: number): void {
  state.depth += 1
  if (state.depth > 1) state.token = null
  else if (byte === 0x5b) state.isDone = true
}

function close(state: State): void {
  if (state.depth === 1) finishMember(state)
  state.depth -= 1
  if (state.depth <= 0) state.isDone = true
}

function separate(state: State, byte: number): void {
  if (byte === 0x3a && state.role === 'key') {
    const key = parseToken(state.token)
    state.key = typeof key === 'string' && state.wanted.has(key) ? key : null
    state.role = 'value'
    state.token = state.key === null ? null : []
  } else if (byte === 0x2c) finishMember(state)
  else keep(state, byte)
}

function finishMember(state: State): void {
  if (state.key !== null && state.role === 'value') {
    const value = parseToken(state.token)
    if (value !== undefined) state.found.set(state.key, value)
    if (state.found.size === state.wanted.size) state.isDone = true
  }
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
