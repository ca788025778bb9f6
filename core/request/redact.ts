import { type CanonicalRequest, isRefusal, type RawRequest } from './canonical.ts'
import { readPair } from './target.ts'

const MAX_PATH = 2_048
const SECRET_NAME = /token|key|secret|passw|pwd|auth|sig|credential|session|jwt|code|sas/i
const HIDDEN = 'REDACTED'

/** Path and query as a record may hold them: values of parameters that could be credentials are blanked. */
export function recordPath(request: CanonicalRequest): string {
  const { rawPath, rawQuery } = request
  if (rawQuery === '') return rawPath.slice(0, MAX_PATH)
  return `${rawPath}?${rawQuery.replace(PAIR, hidden)}`.slice(0, MAX_PATH)
}

/** Older servers take `;` for `&`. */
const PAIR = /[^&;]+/g

/** The name counts as the server reads it: `to%6ben` is `token`. A name that cannot be decoded is hidden, too. */
function hidden(text: string): string {
  const equals = text.indexOf('=')
  if (equals < 0) return text
  const pair = readPair(text.slice(0, equals))
  return isRefusal(pair) || SECRET_NAME.test(pair[0]) ? `${text.slice(0, equals)}=${HIDDEN}` : text
}

/** For a request that could not be read: the bytes before the query, printable ones only. */
export function rawRecordPath(raw: RawRequest): string {
  const path = raw.target.split('?')[0] ?? ''
  return path
    .replace(/^https?:\/\/[^/]*/i, '')
    .replace(/[^\x21-\x7e]/g, '?')
    .slice(0, MAX_PATH)
}
