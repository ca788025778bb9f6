import { type CanonicalRequest, isRefusal, type RawRequest } from './canonical.ts'
import { readPair } from './target.ts'

const MAX_PATH = 2_048
const SECRET_NAME = /token|key|secret|passw|pwd|auth|sig|credential|session|jwt|code|sas/i
const HIDDEN = 'REDACTED'

/** Returns path and query for a record, without the values of parameters that could be credentials. */
export function recordPath({ rawPath, rawQuery }: Pick<CanonicalRequest, 'rawPath' | 'rawQuery'>): string {
  const path = shownPath(rawPath)
  if (rawQuery === '') return path.slice(0, MAX_PATH)
  return `${path}?${rawQuery.replace(PAIR, hidden)}`.slice(0, MAX_PATH)
}

/** Matches one pair of a query. Some older servers separate pairs at `;` as well as at `&`. */
const PAIR = /[^&;]+/g

/**
 * Returns the pair with its value hidden if the decoded name is the name of a secret: `to%6ben` is `token`. The value
 * is also hidden if the name cannot be decoded.
 */
function hidden(text: string): string {
  const equals = text.indexOf('=')
  if (equals < 0) return text
  return isSecretName(text.slice(0, equals)) ? `${text.slice(0, equals)}=${HIDDEN}` : text
}

function isSecretName(text: string): boolean {
  const pair = readPair(text)
  return isRefusal(pair) || SECRET_NAME.test(pair[0])
}

/**
 * Returns the path with the values of secret parameters hidden. Parameters of path segments (RFC 3986, 3.3) begin with
 * `;`, but some servers also split segments at other characters.
 */
function shownPath(path: string): string {
  return EQUALS.test(path) ? path.replace(PATH_PARAMETER, hiddenInPath) : path
}

const EQUALS = /=|%3d/i
const PATH_PARAMETER = /[^/;]+/g

/** Maximum number of `=` that are checked in one path segment, which limits the time. */
const MAX_EQUALS = 16

/**
 * Hides the text after the first `=` that follows the name of a secret. The name may begin after any separator. Also
 * hides the text after the first unchecked `=` if the text has more than `MAX_EQUALS` of them.
 */
function hiddenInPath(text: string): string {
  let count = 0
  for (const { index, 0: equals } of text.matchAll(/=|%3d/gi)) {
    const name = text.slice(0, index)
    count += 1
    if (count > MAX_EQUALS || isSecretName(name.replaceAll('=', ' '))) return `${name}${equals}${HIDDEN}`
  }
  return text
}

/**
 * Returns the target of an action for a record. In a URL, hides the user information and the values of parameters that
 * could be credentials.
 */
export function recordTarget(target: string): string {
  const text = target.replace(USER, `$1${HIDDEN}@`).slice(0, MAX_PATH)
  const at = text.search(/[?#]/)
  if (at < 0) return shownPath(text)
  return shownPath(text.slice(0, at)) + text.slice(at).replace(PARAMETER, hidden)
}

/** Matches the scheme and user information of a URL. */
const USER = /^([a-z][a-z0-9+.-]*:[\\/]{2})[^/?#]*@/i
/** Matches one pair of a query or fragment. */
const PARAMETER = /[^&;?#]+/g

/** Returns the path of a request that could not be parsed: the printable bytes before the query. */
export function rawRecordPath(raw: RawRequest): string {
  const path = raw.target.split('?')[0] ?? ''
  return shownPath(path.replace(/^https?:\/\/[^/]*/i, ''))
    .replace(/[^\x21-\x7e]/g, '?')
    .slice(0, MAX_PATH)
}
