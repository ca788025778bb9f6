import { isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import { parseStrictJson, stringEnd } from '../../request/json/strict-json.ts'
import type { MemberPath } from '../connector.ts'
import { fieldOf } from '../credentials/field-name.ts'
import { isRecord } from './fields.ts'

const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Position of a top-level member in a JSON text: from the quote of its key to the end of its value. */
type Member = { readonly key: string; readonly start: number; readonly end: number }

/**
 * Removes top-level members from a JSON object and keeps every other character. `names` are lower case. Refuses text
 * that two parsers could read differently, and text that is not JSON: a lenient parser would still find the members.
 * JSON other than an object is returned unchanged.
 */
export function removeMembers(
  bytes: Uint8Array,
  names: ReadonlySet<string>,
): { bytes: Uint8Array; removed: boolean } | Refusal {
  const text = decode(bytes)
  if (text === null) return refusal('malformed_request', 'the JSON body is not valid UTF-8')
  const parsed = parseStrictJson(text, [])
  if (isRefusal(parsed)) return parsed
  if (!isRecord(parsed.value)) return { bytes, removed: false }
  const members = readMembers(text)
  const kept = members.filter((member) => !names.has(fieldOf(member.key)))
  if (kept.length === members.length) return { bytes, removed: false }
  const body = kept.map((member) => text.slice(member.start, member.end)).join(',')
  return { bytes: new TextEncoder().encode(`{${body}}`), removed: true }
}

/**
 * Character that replaces a masked value. `*` cannot occur in JSON outside of strings, so the masked text never equals
 * another JSON text.
 */
const MASK = '*'
/** Maximum length of a masked string or number, in characters of JSON; a `tracestate` may have 512. */
export const MAX_MASKED = 520

/**
 * Replaces strings and numbers of at most `MAX_MASKED` characters at these paths with `MASK` and keeps every other
 * character. Keys match exactly. `text` is JSON without duplicate keys; text whose root is not an object is returned
 * unchanged.
 */
export function maskMembers(text: string, paths: readonly MemberPath[]): string {
  if (!/^[ \t\r\n]*\{/.test(text)) return text
  let masked = ''
  let done = 0
  for (const member of readMembers(text)) {
    const value = stringEnd(text, member.start)
    const made = maskValue(text.slice(value, member.end), below(paths, member.key))
    masked += text.slice(done, value) + made
    done = member.end
  }
  return masked + text.slice(done)
}

/** Returns the rest of each path that begins with this key. An empty rest means the member itself. */
function below(paths: readonly MemberPath[], key: string): readonly MemberPath[] {
  return paths.flatMap(([first, ...rest]) => (first === key ? [rest] : []))
}

/** Masks the value of one JSON member. `text`: the characters from the end of its key to the end of the member. */
function maskValue(text: string, paths: readonly MemberPath[]): string {
  if (paths.length === 0) return text
  const at = text.indexOf(':') + 1
  const value = text.slice(at)
  if (!paths.some((path) => path.length === 0)) return text.slice(0, at) + maskMembers(value, paths)
  return isShortScalar(value) ? `${text.slice(0, at)}${MASK}` : text
}

function isShortScalar(value: string): boolean {
  return /^[ \t\r\n]*["\d-]/.test(value) && value.trim().length <= MAX_MASKED
}

function decode(bytes: Uint8Array): string | null {
  try {
    return STRICT_UTF8.decode(bytes)
  } catch {
    return null
  }
}

/** Returns the members of a valid JSON text whose root is an object. */
function readMembers(text: string): Member[] {
  const members: Member[] = []
  for (let at = 0; ; ) {
    const start = text.indexOf('"', at)
    if (start === -1) return members
    const end = endOfMember(text, stringEnd(text, start))
    members.push({ key: keyAt(text, start), start, end })
    if (text[end] !== ',') return members
    at = end + 1
  }
}

const DEPTH: Readonly<Record<string, number>> = { '{': 1, '[': 1, '}': -1, ']': -1 }

/** Returns the index of the comma or brace that ends the member whose key ended at `from`. */
function endOfMember(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; ) {
    const char = text.charAt(at)
    if (depth === 0 && (char === ',' || char === '}')) return at
    depth += DEPTH[char] ?? 0
    at = char === '"' ? stringEnd(text, at) : at + 1
  }
  return text.length
}

function keyAt(text: string, start: number): string {
  const key: unknown = JSON.parse(text.slice(start, stringEnd(text, start)))
  return typeof key === 'string' ? key : ''
}
