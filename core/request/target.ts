import { isRefusal, type Refusal, refusal } from './canonical.ts'
import { decodeComponent, decodePercent, decodings, hasControl, hidesSecondEncoding } from './percent.ts'

/** Request target, split without a change of any byte. Only an absolute-form target has `authority` and `scheme`. */
export type SplitTarget = {
  readonly scheme?: 'http' | 'https'
  readonly authority?: string
  readonly rawTarget: string
  readonly rawPath: string
  readonly rawQuery: string
}

export type ReadPath = { readonly rawSegments: readonly string[]; readonly segments: readonly string[] }

const BACKSLASH = 0x5c

/** Splits a target in origin-form or absolute-form. Refuses any other target. */
export function splitTarget(target: string): SplitTarget | Refusal {
  const wrong = judgeCharacters(target)
  if (wrong !== null) return wrong
  if (target.startsWith('/')) return splitOrigin(target)
  const absolute = /^(https?):\/\/([^/?]*)/i.exec(target)
  if (absolute === null) {
    return refusal('malformed_request', 'the request target must begin with / or with http:// or https://')
  }
  const rest = target.slice(absolute[0].length)
  const scheme = absolute[1]?.toLowerCase() === 'https' ? 'https' : 'http'
  return { ...splitOrigin(rest.startsWith('/') ? rest : `/${rest}`), scheme, authority: absolute[2] ?? '' }
}

function splitOrigin(rawTarget: string): SplitTarget {
  const mark = rawTarget.indexOf('?')
  if (mark === -1) return { rawTarget, rawPath: rawTarget, rawQuery: '' }
  return { rawTarget, rawPath: rawTarget.slice(0, mark), rawQuery: rawTarget.slice(mark + 1) }
}

function judgeCharacters(target: string): Refusal | null {
  for (let i = 0; i < target.length; i++) {
    const code = target.charCodeAt(i)
    if (code <= 0x20 || code >= 0x7f) {
      return refusal(
        'malformed_request',
        'the request target contains a character that must be percent-encoded',
      )
    }
    if (code === 0x23)
      return refusal('malformed_request', 'the request target contains a fragment (#); remove the fragment')
  }
  return null
}

/**
 * Splits the path and decodes each segment once. Refuses everything that servers read differently: empty segments
 * before the last, dot segments (plain or encoded), backslash, NUL and control characters, invalid or double encodings,
 * invalid UTF-8. `%2F` becomes a `/` inside its segment, because only the matching catalogue row determines whether it
 * is valid.
 */
export function readPath(rawPath: string): ReadPath | Refusal {
  if (rawPath === '/') return { rawSegments: [], segments: [] }
  const rawSegments = rawPath.slice(1).split('/')
  const segments = rawPath.includes('%') ? decodeAll(rawSegments) : rawSegments
  if (isRefusal(segments)) return segments
  const last = segments.length - 1
  for (let i = 0; i <= last; i++) {
    const wrong = judgeSegment(segments[i] ?? '', i === last)
    if (wrong !== null) return wrong
  }
  return { rawSegments, segments }
}

function decodeAll(rawSegments: readonly string[]): readonly string[] | Refusal {
  const segments: string[] = []
  for (const raw of rawSegments) {
    const decoded = decodePercent(raw)
    if (decoded === null)
      return refusal(
        'malformed_request',
        'the path contains a percent escape that is not valid UTF-8; encode the path in UTF-8',
      )
    if (hasControl(decoded))
      return refusal('ambiguous_request', 'the path contains an encoded control character; remove it')
    if (hidesSecondEncoding(decoded) || hidesDots(decoded)) {
      return refusal('ambiguous_request', 'the path is percent-encoded twice; encode the path once')
    }
    segments.push(decoded)
  }
  return segments
}

/**
 * Reports whether a server that decodes again and trims would read the segment as a dot segment, such as `..%20` as
 * `..`.
 */
function hidesDots(decoded: string): boolean {
  return decoded.includes('%') && decodings([decoded]).some(([text = '']) => isDotted(text))
}

function judgeSegment(segment: string, isLast: boolean): Refusal | null {
  if (segment === '' && !isLast) return refusal('ambiguous_request', 'the path has an empty segment (//)')
  if (isDotted(segment))
    return refusal('ambiguous_request', 'the path has a dot segment (. or ..); send the resolved path')
  for (let i = 0; i < segment.length; i++) {
    if (segment.charCodeAt(i) === BACKSLASH)
      return refusal('ambiguous_request', 'the path contains a backslash')
  }
  return null
}

/**
 * Reports whether some servers read the segment as a dot segment, including `a%2F..%2Fb`, `..;x` on servers with path
 * parameters, and `.. ` on servers that trim.
 */
function isDotted(segment: string): boolean {
  if (!segment.includes('.')) return false
  return segment.split('/').some((part) => /^\s*\.\.?\s*(;|$)/.test(part))
}

/**
 * Maximum number of pairs in one form. A query needs no separate maximum, because the size of the request head limits
 * it.
 */
export const MAX_FORM_PAIRS = 10_000

/** Returns a refusal for a form with too many fields; else null. Counts only up to the bound. */
export function judgePairCount(text: string): Refusal | null {
  let pairs = 1
  for (const separator of ['&', ';']) {
    for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, at + 1)) {
      pairs += 1
      if (pairs > MAX_FORM_PAIRS)
        return refusal(
          'body_too_large',
          `the form or query has more than ${MAX_FORM_PAIRS} fields; send fewer`,
        )
    }
  }
  return null
}

/**
 * Decodes the pairs of a query or form once, in order, with `+` as space. Some older servers treat `;` as `&`, so each
 * name in a part with a `;` is returned at least twice, as if it were repeated. A repeated name becomes a list in
 * facts, and is refused if an operation declares the parameter as a single value.
 */
export function readPairs(text: string): Array<readonly [string, string]> | Refusal {
  const pairs: Array<readonly [string, string]> = []
  if (text === '') return pairs
  for (const part of text.split('&')) {
    const wrong = part === '' ? null : addPart(part, pairs)
    if (wrong !== null) return wrong
  }
  return pairs
}

function addPart(part: string, pairs: Array<readonly [string, string]>): Refusal | null {
  const readings = part.includes(';') ? readingsOf(part) : [part]
  const counts = new Map<string, number>()
  const read: Array<readonly [string, string]> = []
  for (const reading of readings) {
    const pair = readPair(reading)
    if (isRefusal(pair)) return pair
    read.push(pair)
    counts.set(pair[0], (counts.get(pair[0]) ?? 0) + 1)
  }
  for (const pair of read) {
    pairs.push(pair)
    if (readings.length > 1 && counts.get(pair[0]) === 1) pairs.push(pair)
  }
  return null
}

/**
 * Returns the readings of one part of a query: the part itself, its pieces between `;`, and each of these without
 * leading blanks, which some servers remove.
 */
function readingsOf(part: string): readonly string[] {
  const pieces = part.split(';').filter((piece) => piece !== '')
  const trimmed = pieces.map((piece) => piece.replace(/^[+ ]+/, ''))
  const spellings = pieces.filter((piece, index) => piece !== trimmed[index])
  return [part, ...trimmed.filter((piece) => piece !== ''), ...spellings]
}

/** Decodes one `name=value` of a query or a form once. */
export function readPair(part: string): readonly [string, string] | Refusal {
  const equals = part.indexOf('=')
  const name = decodeComponent(equals === -1 ? part : part.slice(0, equals))
  const value = equals === -1 ? '' : decodeComponent(part.slice(equals + 1))
  if (name === null || value === null) {
    return refusal('malformed_request', 'the query or form contains a percent escape that is not valid UTF-8')
  }
  if (name.includes('\0') || value.includes('\0'))
    return refusal('ambiguous_request', 'the query or form contains a NUL')
  return [name, value]
}
