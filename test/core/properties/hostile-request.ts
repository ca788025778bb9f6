import type { RawRequest } from '../../../core/request/canonical.ts'
import fc from '../../support/fast-check.ts'
import { type Pair, type PlainRequest, type Provider, plainRequest } from './plain-request.ts'
import { plainly } from './spelling.ts'

/**
 * Members of a body in order. A key may occur twice, or in another spelling, so that the test covers every reading
 * of the body.
 */
export type Members = ReadonlyArray<readonly [key: string, value: unknown]>

export type HostileRequest = {
  readonly provider: Provider
  readonly raw: RawRequest
  readonly body: string
  readonly members: Members
}

type PathTrick = (path: string, at: number) => string

const onChar =
  (change: (char: string) => string): PathTrick =>
  (path, at) => {
    const place = 1 + (at % Math.max(1, path.length - 1))
    return path.slice(0, place) + change(path.charAt(place)) + path.slice(place + 1)
  }
const onSlash =
  (text: string): PathTrick =>
  (path, at) => {
    const slashes = [...path.matchAll(/\//g)].map(({ index }) => index)
    const place = slashes[at % slashes.length] ?? 0
    return path.slice(0, place) + text + path.slice(place + 1)
  }
const onSegment =
  (change: (segment: string) => string): PathTrick =>
  (path, at) => {
    const segments = path.split('/')
    const place = 1 + (at % Math.max(1, segments.length - 1))
    return segments.map((segment, i) => (i === place ? change(segment) : segment)).join('/')
  }
const hex = (char: string) => Buffer.from(char).toString('hex')

const PATH_TRICKS: readonly PathTrick[] = [
  onChar((char) => (char === '' ? '' : `%${hex(char)}`)),
  onChar((char) => (char === '' ? '' : `%25${hex(char)}`)),
  onChar((char) => (char === '' ? '' : `%2525${hex(char)}`)),
  onChar((char) => char.toUpperCase()),
  onSegment((segment) => segment.toUpperCase()),
  onSegment((segment) => [...segment].map((char) => `%25${hex(char)}`).join('')),
  onSegment((segment) => `${segment};v=1`),
  onSegment((segment) => `${segment}%3Bv=1`),
  onSegment((segment) => `${segment}%00`),
  onSegment((segment) => `${segment}%20`),
  onSegment((segment) => `%20${segment}`),
  onSegment((segment) => `${segment}%2500`),
  ...[
    '//',
    '/./',
    '/x/../',
    '/%2e/',
    '/x/%2e%2e/',
    '/x%2f../',
    '/x/..;/',
    '/x/%252e%252e/',
    '\\',
    '%5c',
    '%2f',
  ].map(onSlash),
  ...['%252f', '/x%5c..%5c', '/..%2f', '/;a=b/', '/%2e%2e%2f'].map(onSlash),
  (path) => `${path}/`,
  (path) => `${path}%2f`,
  (path) => `${path}//`,
  (path) => `${path}/.`,
  (path) => `/${path}`,
  (path) => `/x/..${path}`,
]

const pathTrick = fc.tuple(fc.constantFrom(...PATH_TRICKS), fc.nat({ max: 400 }))

const QUERY_TRICKS = [
  '_method=DELETE',
  'x-http-method-override=DELETE',
  'state=closed',
  'sha=abc',
  'stream=true',
  'amount=1',
]
const HEADER_TRICKS: ReadonlyArray<readonly [string, string]> = [
  ['X-HTTP-Method-Override', 'DELETE'],
  ['x_http_method_override', 'DELETE'],
  ['X-HTTP-Method', 'PUT'],
  ['X-Method-Override', 'PATCH'],
  ['X-Original-URL', '/user'],
  ['X-Rewrite-URL', '/user'],
]
const LABELS = [
  'application/json',
  'APPLICATION/JSON; charset=utf-8',
  'application/vnd.any+json',
  'text/json',
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/json;charset=utf-16',
  'application/json, text/plain',
  '',
]

const spellings = (key: string) => [
  key,
  key.toUpperCase(),
  `${key}\u0000`,
  key.replace('s', '\u017f'),
  ` ${key}`,
]
/** More members under the names that are there already, or under those that decide. */
const moreMembers = fc.array(
  fc.tuple(
    fc.constantFrom(...['state', 'stream', 'sha', 'amount', 'channel', 'title'].flatMap(spellings)),
    fc.constantFrom<unknown>('closed', 'open', true, false, 'abc', 1, 5_000, null),
  ),
  { maxLength: 2 },
)

/** Most of the time nothing: a request with everything wrong about it is refused, and shows nothing. */
function rarely<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })
}

/** A request with nothing, something or much wrong about it. */
export const hostileRequest: fc.Arbitrary<HostileRequest> = fc
  .record({
    plain: plainRequest,
    paths: fc.oneof(fc.constant([]), fc.tuple(pathTrick), fc.array(pathTrick, { maxLength: 3 })),
    query: rarely(fc.constantFrom(...QUERY_TRICKS)),
    header: rarely(fc.constantFrom(...HEADER_TRICKS)),
    label: rarely(fc.constantFrom(...LABELS)),
    method: rarely(fc.constantFrom('get', 'Delete', 'HEAD', 'OPTIONS', 'DELETE', 'POST')),
    more: rarely(moreMembers).map((more) => more ?? []),
    order: fc.boolean(),
  })
  .map((tricks) => {
    const members = membersOf(tricks.plain, tricks.more, tricks.order)
    return { ...built(tricks, members), provider: tricks.plain.provider, members }
  })

type Tricks = {
  readonly plain: PlainRequest
  readonly paths: ReadonlyArray<readonly [PathTrick, number]>
  readonly query: string | null
  readonly header: readonly [string, string] | null
  readonly label: string | null
  readonly method: string | null
}

function membersOf(plain: PlainRequest, more: Members, isBehind: boolean): Members {
  if (plain.body === null) return []
  const own: readonly Pair[] = plain.body
  return isBehind ? [...own, ...more] : [...more, ...own]
}

function built(tricks: Tricks, members: Members): { raw: RawRequest; body: string } {
  const { plain } = tricks
  const simple = plainly({ ...plain, body: null })
  const [path = '', query] = simple.raw.target.split('?')
  const hostile = tricks.paths.reduce((now, [trick, at]) => trick(now, at), path)
  const asked = [...(query === undefined ? [] : [query]), ...(tricks.query === null ? [] : [tricks.query])]
  const body = plain.body === null ? '' : textOf(members, plain.format)
  const usual = plain.format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded'
  const label = tricks.label ?? usual
  const rawHeaders = [
    ...simple.raw.rawHeaders,
    ...(tricks.header ?? []),
    ...(plain.body === null ? [] : ['Content-Length', String(Buffer.byteLength(body))]),
    ...(plain.body === null || label === '' ? [] : ['Content-Type', label]),
  ]
  const target = asked.length === 0 ? hostile : `${hostile}?${asked.join('&')}`
  return { raw: { ...simple.raw, method: tricks.method ?? plain.method, target, rawHeaders }, body }
}

function textOf(members: Members, format: PlainRequest['format']): string {
  if (format === 'json')
    return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`
  return members
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(String(value))}`)
    .join('&')
}
