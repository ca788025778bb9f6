import { isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import { scanJson } from '../../request/json/json-scan.ts'
import { fold } from '../../request/json/strict-json.ts'
import type { Sliced } from '../../sliced.ts'
import { isRecord } from '../fields/fields.ts'
import type { Message, MessageEvent } from '../message-protocol.ts'

/** Keys that determine the kind of a WebSocket message. Only this exact spelling counts. */
const KEYS = ['type', 'stream', 'stream_id', 'response', 'response_id']

/**
 * Reads a client message of the Responses API over a WebSocket: `response.create` with the fields of the HTTP request.
 * Responses on a WebSocket always stream, so the returned body has `stream: true`.
 */
export function* readResponseMessage(bytes: Uint8Array): Sliced<Message | Refusal> {
  const scanned = yield* scanJson(bytes, { keep: KEYS })
  if (isRefusal(scanned)) return scanned
  const { value, members, memberCount } = scanned
  if (!isRecord(value)) return refusal('malformed_request', 'the message is not a JSON object')
  if (memberCount > members.length)
    return refusal('unsupported_body', `the message has more than ${members.length} members; send fewer`)
  if (new Set(members.map(({ key }) => fold(key))).size < memberCount)
    return refusal(
      'ambiguous_request',
      'two keys of the message differ only in letter case or in full-width letters; send one of them',
    )
  if (memberCount === ACKNOWLEDGEMENT_MEMBERS && isAcknowledgement(value)) return { kind: 'acknowledgement' }
  if (value['type'] !== 'response.create') {
    return refusal(
      'unsupported_body',
      'the gateway reads messages of type response.create only; send other requests over HTTP',
    )
  }
  return readCreate(bytes, value)
}

function readCreate(bytes: Uint8Array, value: Readonly<Record<string, unknown>>): Message | Refusal {
  const { stream, stream_id: streamId = null } = value
  if (Object.hasOwn(value, 'response')) {
    return refusal(
      'ambiguous_request',
      'the message has a field "response"; move its fields to the top level, next to "type"',
    )
  }
  if (streamId !== null && typeof streamId !== 'string')
    return refusal('malformed_request', 'stream_id must be a string')
  if (stream !== undefined && stream !== true) {
    return refusal(
      'ambiguous_request',
      'responses over a WebSocket are always streamed; remove the field "stream"',
    )
  }
  return { kind: 'request', body: stream === true ? bytes : withStream(bytes), streamId }
}

const BRACE = 0x7b
const STREAM = new TextEncoder().encode('"stream":true,')

/** Inserts `"stream":true` at the beginning of the root object. Only white space may precede the object. */
function withStream(bytes: Uint8Array): Uint8Array {
  const at = bytes.indexOf(BRACE) + 1
  const body = new Uint8Array(bytes.length + STREAM.length)
  body.set(bytes.subarray(0, at))
  body.set(STREAM, at)
  body.set(bytes.subarray(at), at + STREAM.length)
  return body
}

const RESPONSE_ID = /^[A-Za-z0-9_-]{1,128}$/

/**
 * Number of members of an acknowledgement: `type` and `response_id`. A message with more members may contain input of
 * a model.
 */
const ACKNOWLEDGEMENT_MEMBERS = 2

function isAcknowledgement({ type, response_id: id }: Readonly<Record<string, unknown>>): boolean {
  return type === 'response.processed' && typeof id === 'string' && RESPONSE_ID.test(id)
}

const ENDS: ReadonlySet<string | undefined> = new Set([
  'response.completed',
  'response.failed',
  'response.incomplete',
  'response.cancelled',
  'error',
])

/** Reads the scalar members at the beginning of a server event of the Responses API. */
export function readResponseEvent(head: string): MessageEvent {
  const members = leadingScalars(head)
  const type = members.get('type')
  const status = Number(members.get('status'))
  const isStatus = Number.isInteger(status) && status >= 400 && status < 600
  return {
    streamId: members.get('stream_id') ?? null,
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
