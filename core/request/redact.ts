import type { CanonicalRequest, RawRequest } from './canonical.ts'

const MAX_PATH = 2_048
const SECRET_NAME = /token|key|secret|passw|auth|sig|credential|session|jwt|code|sas/i
const HIDDEN = 'REDACTED'

/** Path and query as a record may hold them: values of parameters that could be credentials are blanked. */
export function recordPath(request: CanonicalRequest): string {
  const { rawPath, rawQuery } = request
  if (rawQuery === '') return rawPath.slice(0, MAX_PATH)
  const pairs = rawQuery.split('&').map((pair) => {
    const at = pair.indexOf('=')
    return at > 0 && SECRET_NAME.test(pair.slice(0, at)) ? `${pair.slice(0, at)}=${HIDDEN}` : pair
  })
  return `${rawPath}?${pairs.join('&')}`.slice(0, MAX_PATH)
}

/** For a request that could not be read: the bytes before the query, printable ones only. */
export function rawRecordPath(raw: RawRequest): string {
  const path = raw.target.split('?')[0] ?? ''
  return path
    .replace(/^https?:\/\/[^/]*/i, '')
    .replace(/[^\x21-\x7e]/g, '?')
    .slice(0, MAX_PATH)
}
