import { boundaryOf, readPartNames } from './body/multipart.ts'
import { type CanonicalRequest, type Refusal, refusal } from './canonical.ts'
import { overridesMethod } from './headers/header-names.ts'
import { headerValue } from './headers/headers.ts'
import { tooManyValues } from './json/json-bounds.ts'
import { exceedsJsonBounds } from './json/json-size.ts'
import { decodedLeniently } from './percent.ts'
import { judgePairCount } from './target.ts'

/**
 * Reports whether frameworks read another method from a parameter, form field or JSON member of this name: `_method`
 * and its PHP variants, also as a list, and the names of the override headers. Removes padding and indexes before it
 * checks the length, because servers remove any amount of them.
 */
function isOverrideName(name: string): boolean {
  return readingsOf(name).some((reading) => reading.length <= MAX_NAME && overridesMethod(reading))
}

/**
 * Returns the names that servers may read instead of this name: `_method` for `_method[0]` and `[_method]`, and the
 * names that PHP reads for `.method` and `[method`.
 */
function readingsOf(name: string): readonly string[] {
  const text = withoutPadding(name)
  const end = text.indexOf('[', 1)
  const base = withoutPadding(end === -1 ? text : text.slice(0, end))
  if (base[0] !== '[' && base[0] !== '.') return [base]
  const rest = base.slice(1)
  const close = rest.indexOf(']')
  return [`_${rest}`, withoutPadding(close === -1 ? rest : rest.slice(0, close))]
}

/**
 * Returns the text without white space, control and invisible characters at both ends. The time is linear in the
 * length of the padding.
 */
function withoutPadding(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isPadding(text, start)) start += 1
  while (end > start && isPadding(text, end - 1)) end -= 1
  return text.slice(start, end)
}

function isPadding(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code < 0x80 ? code <= 0x20 || code === 0x7f : INVISIBLE.test(text.charAt(at))
}

const INVISIBLE = /[\s\p{Cc}\p{Cf}\p{Z}]/u
const MAX_NAME = 64

/**
 * Refuses a query or form with a name that overrides the method, also if servers treat `;` as `&`. Also refuses a name
 * with a NUL, because some servers truncate there and read `token%00` as `token`.
 */
export function judgePairNames(text: string, where: string): Refusal | null {
  const tooMany = judgePairCount(text)
  if (tooMany !== null) return tooMany
  for (const part of text.split(/[&;]/)) {
    const wrong = judgePairName(part.slice(0, part.includes('=') ? part.indexOf('=') : part.length), where)
    if (wrong !== null) return wrong
  }
  return null
}

function judgePairName(name: string, where: string): Refusal | null {
  if (name.includes('%00') || name.includes('\0'))
    return refusal('ambiguous_request', `the name of a ${where} contains a NUL character; remove the field`)
  const decoded = decodedLeniently(name.replaceAll('+', ' '))
  return isOverrideName(decoded) ? overriding(where, decoded) : null
}

/**
 * Refuses decoded pairs with a name that overrides the method. If `text` contains a `;`, also checks the pairs that
 * some servers obtain by splitting the text at each `;`.
 */
export function judgePairs(
  pairs: ReadonlyArray<readonly [string, string]>,
  text: string,
  where: string,
): Refusal | null {
  for (const [name] of pairs) if (isOverrideName(name)) return overriding(where, name)
  return text.includes(';') ? judgePairNames(text, where) : null
}

/** Refuses a multipart form whose parts have names that override the method or contain a NUL. */
export function judgePartNames(names: readonly string[]): Refusal | null {
  if (names.some((name) => name.includes('\0')))
    return refusal(
      'ambiguous_request',
      'the name of a part of the multipart body contains a NUL character; remove the part',
    )
  const found = names.find(isOverrideName)
  return found === undefined ? null : overriding('part', found)
}

/** Format of a body in which frameworks accept an override of the method. */
export type OverridableFormat = 'json' | 'form' | 'multipart'

/**
 * Returns the format in which this body could override the method; null if it cannot. Frameworks override only the
 * method POST.
 */
export function overridableFormat({ method, body }: CanonicalRequest): OverridableFormat | null {
  const { mediaType } = body
  if (method !== 'POST' || mediaType === undefined) return null
  if (mediaType === 'application/x-www-form-urlencoded') return 'form'
  if (mediaType.startsWith('multipart/')) return 'multipart'
  return mediaType.endsWith('/json') || mediaType.endsWith('+json') ? 'json' : null
}

/**
 * Refuses a whole body that overrides the classified method, or whose encoding prevents this check. Ignores everything
 * else in the body.
 */
export function judgeBodyOverride(bytes: Uint8Array, request: CanonicalRequest): Refusal | null {
  const format = overridableFormat(request)
  if (format === null || bytes.length === 0) return null
  const { encoding, charset } = request.body
  if (encoding !== undefined || (charset !== undefined && !ASCII_LIKE.has(charset)))
    return refusal(
      'unsupported_body',
      'the body could replace the method of the request; send the body in UTF-8, without Content-Encoding',
    )
  if (format === 'json') return judgeMembers(new TextDecoder().decode(bytes))
  if (format === 'form') return judgePairNames(latin1Of(bytes), 'form field')
  return judgeParts(bytes, request)
}

const ASCII_LIKE: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'iso-8859-1', 'windows-1252'])

/**
 * Refuses a JSON object with a member that overrides the method. Invalid JSON passes, because servers find no members
 * in it.
 */
function judgeMembers(text: string): Refusal | null {
  if (exceedsJsonBounds(text)) return tooManyValues()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  const found = Object.keys(value).find(isOverrideName)
  return found === undefined ? null : overriding('JSON member', found)
}

/**
 * Refuses a multipart form with a part that overrides the method. A form that `readPartNames` refuses is searched as
 * text, so text that only resembles an overriding name is refused as well.
 */
function judgeParts(bytes: Uint8Array, request: CanonicalRequest): Refusal | null {
  const boundary = boundaryOf(headerValue(request.rawHeaders, 'content-type') ?? '')
  const names = typeof boundary === 'string' ? readPartNames(bytes, boundary) : boundary
  if (!('kind' in names)) return judgePartNames(names)
  return LOOKS_LIKE_OVERRIDE.test(latin1Of(bytes)) ? overriding('part', '_method') : null
}

const LOOKS_LIKE_OVERRIDE =
  /[^a-z0-9](?:_|%5f|\.|\[)\\?method|[^a-z0-9]x[-_](?:http[-_]|request[-_]|original[-_])*(?:method|verb)/i

function overriding(where: string, name: string): Refusal {
  return refusal(
    'ambiguous_request',
    `the ${where} ${withoutPadding(name).slice(0, MAX_NAME)} would replace the method of the request; remove the field`,
  )
}

function latin1Of(bytes: Uint8Array): string {
  return LATIN1.decode(bytes)
}

const LATIN1 = new TextDecoder('latin1')
