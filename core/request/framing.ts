import { type BodyInfo, isRefusal, type RawRequest, type Refusal, refusal } from './canonical.ts'
import type { HeaderFacts } from './header-rules.ts'

/** How long the body is and how it is to be read, or why two readers could differ about that. */
export function readBodyInfo(facts: HeaderFacts, httpVersion: RawRequest['httpVersion']): BodyInfo | Refusal {
  const framing = readFraming(facts, httpVersion)
  if (isRefusal(framing)) return framing
  const media = readMediaType(facts.get('content-type')?.[0])
  if (isRefusal(media)) return media
  const encoding = facts.get('content-encoding')?.[0]?.toLowerCase()
  return { ...framing, ...media, ...(encoding === undefined || encoding === 'identity' ? {} : { encoding }) }
}

function readFraming(
  facts: HeaderFacts,
  httpVersion: RawRequest['httpVersion'],
): Pick<BodyInfo, 'length' | 'isChunked'> | Refusal {
  const lengthText = facts.get('content-length')?.[0]
  const transfer = facts.get('transfer-encoding')?.[0]
  if (transfer !== undefined) return readTransfer(transfer, lengthText, httpVersion)
  if (lengthText === undefined) return { isChunked: false }
  if (!/^[0-9]{1,15}$/.test(lengthText)) {
    return refusal('ambiguous_request', 'Content-Length must be one plain decimal number')
  }
  return { length: Number(lengthText), isChunked: false }
}

function readTransfer(
  transfer: string,
  lengthText: string | undefined,
  httpVersion: RawRequest['httpVersion'],
): Pick<BodyInfo, 'isChunked'> | Refusal {
  if (transfer !== 'chunked') return refusal('ambiguous_request', 'Transfer-Encoding may only be "chunked"')
  if (lengthText !== undefined) {
    return refusal(
      'ambiguous_request',
      'Content-Length and Transfer-Encoding exclude each other; send one of them',
    )
  }
  if (httpVersion !== '1.1')
    return refusal('ambiguous_request', `Transfer-Encoding is not part of HTTP/${httpVersion}`)
  return { isChunked: true }
}

function readMediaType(value: string | undefined): Pick<BodyInfo, 'mediaType' | 'charset'> | Refusal {
  if (value === undefined || value === '') return {}
  // A list of types is what two merged headers look like: readers would pick different ones.
  const [type = '', ...parameters] = value.split(';')
  if (type.includes(',')) return refusal('ambiguous_request', 'Content-Type must name one media type')
  const charsets = parameters.map(charsetOf).filter((charset) => charset !== undefined)
  if (charsets.length > 1) return refusal('ambiguous_request', 'Content-Type names more than one charset')
  const mediaType = type.trim().toLowerCase()
  return charsets[0] === undefined ? { mediaType } : { mediaType, charset: charsets[0] }
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
