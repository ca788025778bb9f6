import { type BodyInfo, isRefusal, type RawRequest, type Refusal, refusal } from './canonical.ts'
import type { HeaderFacts } from './headers/header-rules.ts'

/** Returns the length and format of the body. Returns a refusal if two parsers could determine different values. */
export function readBodyInfo(facts: HeaderFacts, httpVersion: RawRequest['httpVersion']): BodyInfo | Refusal {
  const length = readLength(facts, httpVersion)
  if (isRefusal(length)) return length
  const media = readMediaType(facts.contentType)
  if (isRefusal(media)) return media
  const encoding = facts.contentEncoding?.toLowerCase()
  return {
    length: typeof length === 'number' ? length : undefined,
    isChunked: length === 'chunked',
    mediaType: media.mediaType,
    charset: media.charset,
    encoding: encoding === 'identity' ? undefined : encoding,
  }
}

/**
 * Returns the length of the body in bytes, or `chunked`. Returns `unknown` without Content-Length and
 * Transfer-Encoding: the request has no body, or the end of its stream determines the length (HTTP/2).
 */
function readLength(
  facts: HeaderFacts,
  httpVersion: RawRequest['httpVersion'],
): number | 'chunked' | 'unknown' | Refusal {
  const { contentLength, transferEncoding } = facts
  if (transferEncoding !== undefined) return readTransfer(transferEncoding, contentLength, httpVersion)
  if (contentLength === undefined) return 'unknown'
  if (!/^[0-9]{1,15}$/.test(contentLength)) {
    return refusal('ambiguous_request', 'Content-Length must be one plain decimal number')
  }
  return Number(contentLength)
}

function readTransfer(
  transfer: string,
  lengthText: string | undefined,
  httpVersion: RawRequest['httpVersion'],
): 'chunked' | Refusal {
  if (transfer !== 'chunked') return refusal('ambiguous_request', 'Transfer-Encoding may only be "chunked"')
  if (lengthText !== undefined) {
    return refusal(
      'ambiguous_request',
      'the request has both Content-Length and Transfer-Encoding; send one of them',
    )
  }
  if (httpVersion !== '1.1')
    return refusal('ambiguous_request', `Transfer-Encoding is not part of HTTP/${httpVersion}`)
  return 'chunked'
}

type MediaType = {
  readonly kind: 'media'
  readonly mediaType: string | undefined
  readonly charset: string | undefined
}

const NONE: MediaType = { kind: 'media', mediaType: undefined, charset: undefined }

/** Cache of parsed Content-Type values. The cache has a bound, because every multipart request has a new boundary. */
const known = new Map<string, MediaType>()
const MAX_KNOWN = 256

function readMediaType(value: string | undefined): MediaType | Refusal {
  if (value === undefined || value === '') return NONE
  const found = known.get(value)
  if (found !== undefined) return found
  const read = parseMediaType(value)
  if (isRefusal(read)) return read
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(value, read)
  return read
}

function parseMediaType(value: string): MediaType | Refusal {
  // A list of types indicates that two header fields were merged, and parsers would select different ones.
  const [type = '', ...parameters] = value.split(';')
  if (type.includes(',')) return refusal('ambiguous_request', 'Content-Type must have exactly one media type')
  const charsets = parameters.map(charsetOf).filter((charset) => charset !== undefined)
  if (charsets.length > 1) return refusal('ambiguous_request', 'Content-Type has more than one charset')
  return { kind: 'media', mediaType: type.trim().toLowerCase(), charset: charsets[0] }
}

function charsetOf(parameter: string): string | undefined {
  const equals = parameter.indexOf('=')
  if (equals === -1 || parameter.slice(0, equals).trim().toLowerCase() !== 'charset') return undefined
  return parameter
    .slice(equals + 1)
    .trim()
    .replace(/^"(.*)"$/, '$1')
    .toLowerCase()
}
