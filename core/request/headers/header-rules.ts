import { LIMITS } from '../../wire/schema/limits.ts'
import { type RawRequest, type Refusal, refusal } from '../canonical.ts'
import { type HeaderName, headerName } from './header-names.ts'

/**
 * Values of the header fields that determine framing, host identity and body parsing. A repeated field has its first
 * value here.
 */
export type HeaderFacts = {
  readonly kind: 'facts'
  host: string | undefined
  contentLength: string | undefined
  transferEncoding: string | undefined
  contentType: string | undefined
  contentEncoding: string | undefined
  upgrade: string | undefined
  /** All values of the Connection field, joined by commas. */
  connection: string | undefined
  /** Names that occur more than once although they must be unique; null if there are none. */
  repeated: string[] | null
}

/** Fields that must be unique, because two parsers could select different values. Refusals name them in this order. */
const SINGLE = {
  host: 'host',
  'content-length': 'contentLength',
  'transfer-encoding': 'transferEncoding',
  'content-type': 'contentType',
  'content-encoding': 'contentEncoding',
  upgrade: 'upgrade',
} as const
type SingleName = keyof typeof SINGLE

/** Fields that `Connection` may list. A proxy would remove any other listed field, even an end-to-end field. */
const NOMINABLE = new Set([
  'close',
  'keep-alive',
  'upgrade',
  'te',
  'http2-settings',
  'proxy-connection',
  'trailer',
])

// Matches characters that are invalid in a field value: control characters except tab, and DEL.
const BAD_VALUE = /[\u0000-\u0008\u000a-\u001f\u007f]/

const NOT_ASCII = /[^\t\u0020-\u007e]/

/** Checks every header field in one pass and returns the values that other rules need. */
export function readHeaders(raw: RawRequest): HeaderFacts | Refusal {
  if (blockBytes(raw) > LIMITS.headerBlockBytes) return tooLarge()
  const facts = noFacts()
  for (let i = 0; i < raw.rawHeaders.length; i += 2) {
    const name = raw.rawHeaders[i] ?? ''
    const value = raw.rawHeaders[i + 1] ?? ''
    const known = headerName(name)
    const wrong = judgeField(name, known, value, raw.httpVersion)
    if (wrong !== null) return wrong
    if (known.isRead) keep(facts, known.lower, value.trim())
  }
  return judgeRepeats(facts) ?? judgeNominations(facts) ?? facts
}

function noFacts(): HeaderFacts {
  return {
    kind: 'facts',
    host: undefined,
    contentLength: undefined,
    transferEncoding: undefined,
    contentType: undefined,
    contentEncoding: undefined,
    upgrade: undefined,
    connection: undefined,
    repeated: null,
  }
}

/**
 * Returns the size of the request head in bytes on an HTTP/1.1 connection: the request line, and for each field its
 * name, its value, and four bytes for colon, space and line end.
 */
function blockBytes(raw: RawRequest): number {
  let bytes = raw.method.length + raw.target.length + 12
  for (const text of raw.rawHeaders) bytes += text.length + 2
  return bytes
}

function keep(facts: HeaderFacts, name: string, value: string): void {
  if (name === 'connection') {
    facts.connection = facts.connection === undefined ? value : `${facts.connection},${value}`
  } else if (isSingle(name)) {
    const field = SINGLE[name]
    if (facts[field] === undefined) facts[field] = value
    else facts.repeated = [...(facts.repeated ?? []), name]
  }
}

function isSingle(name: string): name is SingleName {
  return Object.hasOwn(SINGLE, name)
}

function judgeField(
  name: string,
  known: HeaderName,
  value: string,
  version: RawRequest['httpVersion'],
): Refusal | null {
  if (!known.isToken)
    return refusal('malformed_request', 'a header name contains a character that is not allowed')
  if (BAD_VALUE.test(value))
    return refusal('malformed_request', `the header ${name} contains a control character; remove it`)
  // JavaScript trims no-break spaces, but servers do not. Therefore, values that the gateway interprets must be ASCII.
  if (known.isRead && NOT_ASCII.test(value)) {
    return refusal(
      'malformed_request',
      `the header ${name} contains a character that is not ASCII; use ASCII only`,
    )
  }
  if (known.isOverride) {
    return refusal(
      'ambiguous_request',
      `the header ${name} would replace the method or path of the request; remove the header`,
    )
  }
  if (known.shadows !== null) {
    return refusal(
      'ambiguous_request',
      `the header ${name} is read as ${known.shadows} by some servers; remove the header`,
    )
  }
  return version === '2' ? judgeH2Field(known, value) : null
}

function judgeH2Field({ lower, isForbiddenInH2 }: HeaderName, value: string): Refusal | null {
  const isForbidden = isForbiddenInH2 || (lower === 'te' && value.trim() !== 'trailers')
  return isForbidden
    ? refusal('malformed_request', `the header ${lower} is not allowed in HTTP/2; remove the header`)
    : null
}

function judgeRepeats({ repeated }: HeaderFacts): Refusal | null {
  if (repeated === null) return null
  const name = Object.keys(SINGLE).find((each) => repeated.includes(each))
  return refusal('ambiguous_request', `the header ${name} appears more than once; send it once`)
}

function judgeNominations({ connection }: HeaderFacts): Refusal | null {
  if (connection === undefined || NOMINABLE.has(connection)) return null
  for (const option of listItems(connection)) {
    if (!NOMINABLE.has(option)) {
      return refusal(
        'ambiguous_request',
        `Connection names "${option}", which is not a hop-by-hop header; remove the option`,
      )
    }
  }
  return null
}

/** Splits a comma-separated value into its items, in lower case, without empty items. */
export function listItems(values: string | undefined): string[] {
  if (values === undefined) return []
  const items = values.toLowerCase().split(',')
  return items.map((item) => item.trim()).filter((item) => item !== '')
}

function tooLarge(): Refusal {
  return refusal(
    'headers_too_large',
    `the request line and the headers together may have at most ${LIMITS.headerBlockBytes} bytes`,
  )
}
