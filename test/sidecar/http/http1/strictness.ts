import { METHODS } from 'node:http'
import type { RequestSeen } from './reference-parser.ts'

/**
 * One way in which the gateway refuses messages that the parser of Node reads. `problem` matches the reason that the
 * gateway states, and `holds` confirms it by the bytes alone.
 */
export type Strictness = {
  readonly name: string
  readonly problem: RegExp
  readonly holds: (text: string) => boolean
}

const BOTH: readonly Strictness[] = [
  {
    name: 'Transfer-Encoding has one meaning: exactly one field with the value chunked',
    problem: /Transfer-Encoding .*is not "chunked"|more than one Transfer-Encoding/,
    holds: (text) =>
      lines(text, 'transfer-encoding').some(isNotChunked) || isRepeated(text, 'transfer-encoding'),
  },
  {
    name: 'an HTTP/1.0 message has no Transfer-Encoding (RFC 9112, section 6.1)',
    problem: /HTTP\/1\.0 .* must not have Transfer-Encoding/,
    holds: (text) => /HTTP\/1\.0/.test(text) && lines(text, 'transfer-encoding').length > 0,
  },
  {
    name: 'a Content-Length has at most 15 digits, also where the message has no body',
    problem: /Content-Length .* is not a number of bytes|more than one Content-Length/,
    holds: (text) =>
      lines(text, 'content-length').some((value) => !/^\d{1,15}$/.test(value)) ||
      isRepeated(text, 'content-length'),
  },
  {
    name: 'a chunk extension has a name and, behind an equals sign, a value',
    problem: /chunk size is not a hexadecimal number/,
    holds: (text) => /^[0-9a-f]{1,12};[^\r]*\r/im.test(text),
  },
  {
    name: 'a chunk-size line has at most 256 bytes',
    problem: /line of the chunked body is too long/,
    holds: (text) => /^[0-9a-f]+;[^\r]{250,}/im.test(text),
  },
]

/** Strictness about requests. */
export const REQUESTS: readonly Strictness[] = [
  ...BOTH,
  {
    name: 'a request line is "METHOD target HTTP/1.0" or "METHOD target HTTP/1.1", after at most one CRLF',
    problem: /request line is not|header lines must end with CRLF/,
    holds: (text) =>
      !startLines(text).every((line) => REQUEST_LINE.test(line)) || /\n[!-~]+ [!-~]+ HTTP\//.test(text),
  },
  {
    name: 'a request has at most one Host field',
    problem: /more than one Host/,
    holds: (text) => isRepeated(text, 'host'),
  },
  {
    name: 'a request has at most one Proxy-Authorization field',
    problem: /more than one Proxy-Authorization/,
    holds: (text) => isRepeated(text, 'proxy-authorization'),
  },
  {
    name: 'Expect is "100-continue"',
    problem: /Expect must be/,
    holds: (text) =>
      lines(text, 'expect').some((value) => value.toLowerCase() !== '100-continue') ||
      isRepeated(text, 'expect'),
  },
  {
    name: 'a framing field has hyphens, because some servers read underscores as hyphens',
    problem: /as a framing header/,
    holds: (text) => lines(text, '(?:content_length|transfer_encoding)').length > 0,
  },
  {
    name: 'a CONNECT request has no body',
    problem: /CONNECT request must not have a body/,
    holds: (text) => /^CONNECT /m.test(text) && hasFraming(text),
  },
  {
    name: 'a request that upgrades the connection has no body',
    problem: /upgrades the connection cannot have a body/,
    holds: (text) => lines(text, 'upgrade').length > 0 && hasFraming(text),
  },
]

/** Strictness about responses. */
export const RESPONSES: readonly Strictness[] = [
  ...BOTH,
  {
    name: 'a head begins with "HTTP/1.0" or "HTTP/1.1", a status of three digits and a reason of visible characters',
    problem: /status line is not/,
    holds: (text) =>
      !/^HTTP/.test(text) ||
      /\r\n\r\n\r\nHTTP/.test(text) ||
      !text.split('\r\n').every((line) => STATUS_LINE.test(line) || !/^[^A-Za-z]*HTTP\//.test(line)),
  },
  {
    name: 'an HTTP/1.0 response is not an interim response (RFC 9110, section 15.2)',
    problem: /HTTP\/1\.0 response is an interim/,
    holds: (text) => /HTTP\/1\.0 1\d\d/.test(text),
  },
  {
    name: 'an upstream switches protocols only when the request asks for it',
    problem: /switched protocols although/,
    holds: (text) => /HTTP\/1\.[01] 101/.test(text),
  },
]

/**
 * Returns true when the gateway reads a request that Node does not read, by design: the codec reads any token as method
 * and any visible characters as target, and the evaluation of the request judges both. An offer of h2c is ignored (RFC
 * 9110, section 7.8), where Node hands the connection over.
 */
export function isReadByDesign({ method, target }: RequestSeen, text: string): boolean {
  const isKnown = METHODS.includes(method) && /^(?:\/|\*|[a-z]+:\/\/[^/?#])/i.test(target)
  return !isKnown || lines(text, 'upgrade').length > 0 || hasTabAtCoding(text)
}

/**
 * Returns true when a tab follows or precedes the value of Transfer-Encoding. A tab there is optional whitespace (RFC
 * 9110, section 5.6.3); the parser of Node takes the tab for a part of the coding.
 */
export function hasTabAtCoding(text: string): boolean {
  return /^transfer-encoding:[^\r\n]*\t/im.test(text)
}

const REQUEST_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64} [\x21-\x7e]+ HTTP\/1\.[01]$/
const STATUS_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: [\t\x20-\x7e\x80-\xff]*)?$/

/** Returns the first line, and other lines that look like request lines. */
function startLines(text: string): readonly string[] {
  const [first = '', ...others] = text.replace(/^\r\n/, '').split('\r\n')
  return [first, ...others.filter((line) => /^[^:]*[A-Z]+ \S+/.test(line) && !/^[\w-]+:/.test(line))]
}

function lines(text: string, name: string): readonly string[] {
  return [...text.matchAll(new RegExp(`^${name}:[ \\t]*([^\\r\\n]*?)[ \\t]*\\r$`, 'gim'))].map(
    ([, value = '']) => value,
  )
}

function isRepeated(text: string, name: string): boolean {
  return lines(text, name).length > 1
}

function isNotChunked(value: string): boolean {
  return value.toLowerCase() !== 'chunked'
}

function hasFraming(text: string): boolean {
  return lines(text, '(?:content-length|transfer-encoding)').length > 0
}
