import { isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import { fold, parseStrictJson } from '../../request/strict-json.ts'
import { isRecord } from '../fields.ts'
import type { Message, MessageEvent } from '../message-protocol.ts'

/** Keys that tell what a message is. No other spelling of them is accepted. */
const KEYS = ['type', 'stream', 'stream_id', 'response', 'response_id']

/**
 * Reads a message of a client of the Responses API over a WebSocket: `response.create` with the fields of the HTTP
 * request beside `type`. Its answer always streams, so the body of the request has `stream: true`.
 */
export function readResponseMessage(text: string): Message | Refusal {
  const parsed = parseStrictJson(text, KEYS)
  if (isRefusal(parsed)) return parsed
  const { value } = parsed
  if (!isRecord(value)) return refusal('malformed_request', 'the message is no JSON object')
  if (new Set(Object.keys(value).map(fold)).size < Object.keys(value).length)
    return refusal('ambiguous_request', 'two keys of the message differ only in case or width')
  if (isAcknowledgement(value)) return { kind: 'acknowledgement' }
  if (value['type'] !== 'response.create') {
    return refusal(
      'unsupported_body',
      'the gateway reads messages of type response.create only; send other requests over HTTP',
    )
  }
  return readCreate(text, value)
}

function readCreate(text: string, value: Readonly<Record<string, unknown>>): Message | Refusal {
  const { stream, stream_id: lane = null } = value
  if (Object.hasOwn(value, 'response')) {
    return refusal('ambiguous_request', 'the fields of response.create stand beside type, not below response')
  }
  if (lane !== null && typeof lane !== 'string') return refusal('malformed_request', 'stream_id is no string')
  if (stream !== undefined && stream !== true) {
    return refusal('ambiguous_request', 'an answer over a WebSocket always streams; leave stream out')
  }
  const body = stream === true ? text : text.replace('{', '{"stream":true,')
  return { kind: 'request', body, lane }
}

const RESPONSE_ID = /^[A-Za-z0-9_-]{1,128}$/

/** Exactly a type and an id: there is no place for input of a model. */
function isAcknowledgement({ type, response_id: id, ...rest }: Readonly<Record<string, unknown>>): boolean {
  return (
    type === 'response.processed' &&
    typeof id === 'string' &&
    RESPONSE_ID.test(id) &&
    Object.keys(rest).length === 0
  )
}

const ENDS: ReadonlySet<string | undefined> = new Set([
  'response.completed',
  'response.failed',
  'response.incomplete',
  'response.cancelled',
  'error',
])

/** Reads the scalar members that a server's event begins with. */
export function readResponseEvent(head: string): MessageEvent {
  const members = leadingScalars(head)
  const type = members.get('type')
  const status = Number(members.get('status'))
  const isStatus = Number.isInteger(status) && status >= 400 && status < 600
  return {
    lane: members.get('stream_id') ?? null,
    isEnd: ENDS.has(type),
    errorStatus: type === 'error' ? (isStatus ? status : 400) : null,
  }
}

const MEMBER = /\s*[{,]\s*"([^"\\]{0,64})"\s*:\s*(?:"([^"\\]{0,256})"|([\w.+-]{1,64}))/y

function leadingScalars(head: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>()
  MEMBER.lastIndex = 0
  for (let match = MEMBER.exec(head); match !== null; match = MEMBER.exec(head)) {
    const [, name = '', text, literal = ''] = match
    if (literal !== 'null') members.set(name, text ?? literal)
  }
  return members
}
