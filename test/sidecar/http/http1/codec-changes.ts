import { isDeepStrictEqual } from 'node:util'
import type { RequestsRead } from './request-reader.ts'
import type { ResponseRead } from './response-reader.ts'

/**
 * One intended difference between the frozen codec of commit ab7a011 and the present one. `holds` confirms that a
 * difference is this one and nothing more.
 */
export type Change<Read> = {
  readonly name: string
  readonly reason: string
  readonly holds: (before: Read, now: Read, text: string) => boolean
}

type Rewording = readonly [before: RegExp, now: string]

/** Reasons of a refusal whose text changed and nothing else. */
const OF_BODIES: readonly Rewording[] = [
  [/a chunk is longer than its size says$/, 'a chunk is longer than its declared size'],
]

const OF_REQUESTS: readonly Rewording[] = [
  ...OF_BODIES,
  [
    /^lines must end with CRLF and hold no control characters$/,
    'header lines must end with CRLF and contain no control characters',
  ],
  [/bytes: send fewer or shorter headers$/, 'bytes; send fewer or shorter headers'],
  [
    /^(content_length|transfer_encoding) shadows a framing header: write it with a hyphen$/,
    'some servers read the header $1 as a framing header; write the name with a hyphen',
  ],
  [/^there is more than one (.*) header$/, 'the request has more than one $1 header'],
  [/^the Host header is missing$/, 'the request has no Host header'],
  [/^Content-Length is not a number/, 'the Content-Length of the request is not a number'],
  [
    /^the only Transfer-Encoding understood is "chunked"$/,
    'the Transfer-Encoding of the request is not "chunked"',
  ],
  [
    /^Content-Length and Transfer-Encoding exclude each other$/,
    'the request has both Content-Length and Transfer-Encoding; send one of them',
  ],
  [/^HTTP\/1\.0 has no Transfer-Encoding$/, 'an HTTP/1.0 request must not have Transfer-Encoding'],
  [/^only "100-continue" can be expected$/, 'the header Expect must be "100-continue"'],
  [
    /^CONNECT has no body: remove Content-Length or Transfer-Encoding$/,
    'a CONNECT request must not have a body; remove Content-Length and Transfer-Encoding',
  ],
]

const OF_RESPONSES: readonly Rewording[] = [
  ...OF_BODIES,
  [/its header fields are larger/, 'the headers of the response are larger'],
  [/its first line is not/, 'the status line is not'],
  [
    /it switches protocols, and nobody asked for that$/,
    'the upstream switched protocols although the request has no Upgrade',
  ],
  [/its Content-Length is not a number/, 'the Content-Length of the response is not a number'],
  [
    /it has both Content-Length and Transfer-Encoding$/,
    'the response has both Content-Length and Transfer-Encoding; send one of them',
  ],
  [/HTTP\/1\.0 has no Transfer-Encoding$/, 'an HTTP/1.0 response must not have Transfer-Encoding'],
  [/its Transfer-Encoding is not "chunked"$/, 'the Transfer-Encoding of the response is not "chunked"'],
  [/a line between its chunks is too long$/, 'a line of the chunked body is too long'],
  [/its chunks are not separated by CRLF$/, 'lines of a chunked body must end with CRLF'],
  [/its trailers are too long$/, 'the trailers are too long'],
  [/its trailers say anew how long it is$/, 'the trailers contain a framing header'],
]

function reworded<Read extends { readonly problem: string | null }>(
  read: Read,
  rewordings: readonly Rewording[],
): Read {
  const { problem } = read
  const found = problem === null ? undefined : rewordings.find(([before]) => before.test(problem))
  return found === undefined ? read : { ...read, problem: problem?.replace(...found) ?? null }
}

export const rewordedRequests = (read: RequestsRead): RequestsRead => reworded(read, OF_REQUESTS)
export const rewordedResponse = (read: ResponseRead): ResponseRead => reworded(read, OF_RESPONSES)

/** Reports whether two results differ in the reason of the refusal alone. */
function differInReason<Read extends { readonly problem: string | null }>(before: Read, now: Read): boolean {
  return (
    before.problem !== null &&
    now.problem !== null &&
    isDeepStrictEqual({ ...before, problem: now.problem }, now)
  )
}

/** Reports whether the present codec refuses the body of a request of which the former codec read so much. */
function refusesBody(before: RequestsRead, now: RequestsRead): boolean {
  const { requests, refusedHead } = now
  const next = before.requests[requests.length]?.head ?? before.unfinished?.head
  return (
    isDeepStrictEqual(before.requests.slice(0, requests.length), requests) &&
    isDeepStrictEqual(next, refusedHead)
  )
}

const LENGTH_PROBLEM =
  /more than one (?:Content-Length|Transfer-Encoding)|is not "chunked"|not a number of bytes|both Content-Length|must not have Transfer/
const FIELD_PROBLEM = /more than one (?:Host|Proxy-Authorization)|has no Host|Expect must be/
const TRAILER_PROBLEM =
  /^a header line has no colon|^a header name is|^the value of .* has a control character|^lines of a chunked body/

const headsOf = ({ requests, unfinished, refusedHead }: RequestsRead) => [
  ...requests.map(({ head }) => head),
  unfinished?.head ?? refusedHead,
]

/** Reports whether only the reuse of the connection after the last request, one of HTTP/1.0 with close, differs. */
function closesEarlier(before: RequestsRead, now: RequestsRead): boolean {
  const { requests } = now
  const at = headsOf(now).findLastIndex((head) => head !== null)
  const [last, former] = [headsOf(now)[at], headsOf(before)[at]]
  if (last == null || former?.framing.keepAlive !== true || last.framing.keepAlive) return false
  const isClosing = last.rawHeaders.some((value, index) => index % 2 === 1 && /\bclose\b/i.test(value))
  if (last.httpVersion !== '1.0' || !isClosing) return false
  const same = { ...last, framing: { ...last.framing, keepAlive: true } }
  const isPart = at === requests.length
  return (
    isDeepStrictEqual(headsOf(before).slice(0, at + 1), [...headsOf(now).slice(0, at), same]) &&
    requests.every(({ body }, index) => body === before.requests[index]?.body) &&
    (!isPart || (now.problem === before.problem && now.unfinished?.body === before.unfinished?.body))
  )
}

/** What the former codec states at the end of the line behind the CR. */
const LATER_PROBLEM = /^a chunk is longer than its declared size$|^a line of the chunked body is too long$/

/** Changes in the reading of requests. */
export const REQUEST_CHANGES: ReadonlyArray<Change<RequestsRead>> = [
  {
    name: 'trailers with Content-Length or Transfer-Encoding are refused',
    reason:
      'A server that merges trailers into the headers would read another length. Responses had this rule.',
    holds: (before, now, text) =>
      now.problem === 'the trailers contain a framing header' &&
      refusesBody(before, now) &&
      /\n(?:content-length|transfer-encoding):/i.test(text),
  },
  {
    name: 'trailers are parsed as header fields once they are complete',
    reason:
      'One parser of fields for heads and trailers. The refusal names the fault, and comes with the last line.',
    holds: (before, now) =>
      before.problem === 'a trailer is not a header line' &&
      (now.problem === null
        ? isDeepStrictEqual(now.unfinished?.head, before.refusedHead) &&
          isDeepStrictEqual(now.requests, before.requests)
        : TRAILER_PROBLEM.test(now.problem) && differInReason(before, now)),
  },
  {
    name: 'a CR behind chunk data that no LF follows is refused at once',
    reason: 'The former codec waited for the end of a line that cannot be valid. Responses had this rule.',
    holds: (before, now) =>
      now.problem === 'lines of a chunked body must end with CRLF' &&
      (before.problem === null
        ? before.unfinished !== null && refusesBody(before, now)
        : LATER_PROBLEM.test(before.problem) && differInReason(before, now)),
  },
  {
    name: 'a connection of HTTP/1.0 with both close and keep-alive ends after the request',
    reason: 'close takes precedence (RFC 9112, section 9.3). Responses had this rule.',
    holds: closesEarlier,
  },
  {
    name: 'of several faults of one head the one of the length is stated',
    reason: 'Both sides check the length in one function, before the fields that only requests have.',
    holds: (before, now) =>
      differInReason(before, now) &&
      FIELD_PROBLEM.test(before.problem ?? '') &&
      LENGTH_PROBLEM.test(now.problem ?? ''),
  },
]

const MALFORMED = 'the answer is malformed: '

/** Changes in the reading of responses. */
export const RESPONSE_CHANGES: ReadonlyArray<Change<ResponseRead>> = [
  {
    name: 'an interim response of HTTP/1.0 is refused',
    reason:
      'HTTP/1.0 has no interim responses (RFC 9110, section 15.2), and readers disagree about what follows.',
    holds: (before, now, text) =>
      now.problem === `${MALFORMED}an HTTP/1.0 response is an interim response` &&
      /HTTP\/1\.0 1\d\d/.test(text) &&
      isDeepStrictEqual(before.interims.slice(0, now.interims.length), now.interims),
  },
  {
    name: 'the refusal of a field value names the field',
    reason: 'Both sides parse fields in one function.',
    holds: (before, now) =>
      before.problem === `${MALFORMED}a header value has a control character` &&
      /: the value of [^ ]+ has a control character$/.test(now.problem ?? '') &&
      differInReason(before, now),
  },
  {
    name: 'the refusal of a repeated framing field names the field',
    reason: 'Both sides collect framing fields in one function. Of several faults the last one is stated.',
    holds: (before, now) =>
      before.problem === `${MALFORMED}it says twice how long it is` &&
      LENGTH_PROBLEM.test(now.problem ?? '') &&
      differInReason(before, now),
  },
  {
    name: 'of several faults of one head the one of a single field is stated',
    reason: 'The former codec checked both fields together before the value of Transfer-Encoding.',
    holds: (before, now) =>
      differInReason(before, now) &&
      LENGTH_PROBLEM.test(before.problem ?? '') &&
      LENGTH_PROBLEM.test(now.problem ?? ''),
  },
]
