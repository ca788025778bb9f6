import { opaqueBy } from '../../../core/connectors/classify.ts'
import { formatOf, parseBody } from '../../../core/request/body/body.ts'
import { type BodyInfo, isRefusal, type Refusal, refusal } from '../../../core/request/canonical.ts'
import { storableText } from '../../../core/storable.ts'
import type { UnreadBody } from '../../../core/wire/gateway/internal.ts'
import type { Exchange } from '../exchange.ts'
import type { Governed } from '../phases.ts'
import { bodyHash } from './body-hash.ts'

/**
 * Returns where a declaration states that the gateway need not read bodies of this request (`opaque`): in the Connector
 * or in the row of the operation. Returns null without a declaration.
 */
function opaqueDeclaration({ connector, request }: Governed): 'Connector' | 'row' | null {
  return opaqueBy(connector, request)
}

/**
 * Returns true for a body that is declared opaque and whose headers mark it as unreadable. A request with an unread
 * body is classified by its request line alone.
 */
export function staysUnread(exchange: Governed): boolean {
  return labelProblem(exchange.request.body) !== null && opaqueDeclaration(exchange) !== null
}

/**
 * Returns a refusal when the request must not be held, because an approver could not read its body. Returns null for a
 * readable body, and when the action, the Connector or its type declares how unreadable bodies are handled. Before the
 * body is read, only its headers are checked. A body without an end needs the declaration, because it can be neither
 * shown nor quoted.
 */
export function judgeUnread(exchange: Governed): Refusal | null {
  const { request, body, bodyBytes, isOpenEnded } = exchange
  if (body.isEmpty || opaqueDeclaration(exchange) !== null) return null
  if (wasScanned(exchange)) return null
  if (isOpenEnded === true) return unread('the client has not finished sending the body')
  if (exchange.connector.connector.quotesUnreadBody === true) return null
  return bodyBytes === undefined ? judgeLabel(request.body) : judgeBytes(bodyBytes, request.body)
}

/** Returns true when the bytes were scanned as complete JSON. */
function wasScanned({ scan, bodyBytes }: Exchange): boolean {
  return scan !== undefined && scan.bytes === bodyBytes
}

function judgeBytes(bytes: Buffer, info: BodyInfo): Refusal | null {
  const view = parseBody(bytes, info, [])
  if (isRefusal(view)) return view.code === 'unsupported_body' ? unread(problemOf(info)) : view
  return view.kind === 'opaque' || view.kind === 'invalid' ? unread(problemOf(info)) : null
}

/**
 * Returns a refusal by the headers of a body that was not read. A body without a declared length is read first, because
 * it may turn out to be empty.
 */
function judgeLabel(info: BodyInfo): Refusal | null {
  if (info.length === undefined || info.length === 0 || labelProblem(info) === null) return null
  return unread(problemOf(info))
}

function unread(problem: string): Refusal {
  const detail = `The request requires approval, but an approver could not read its body, because ${problem}. Send application/json or application/x-www-form-urlencoded in UTF-8, without Content-Encoding. Where bodies are files or gRPC messages, set "bodies: opaque" on the Connector or on one of its actions.`
  return refusal('unsupported_body', detail)
}

function problemOf(info: BodyInfo): string {
  return labelProblem(info) ?? `the body does not have its declared media type ${info.mediaType}`
}

function labelProblem({ mediaType, charset, encoding }: BodyInfo): string | null {
  if (encoding !== undefined) return `the body is ${shortened(encoding)}-encoded`
  if (mediaType === undefined || mediaType === '') return 'the request has no Content-Type'
  if (formatOf(mediaType) === 'opaque') return `the body has the media type ${shortened(mediaType)}`
  return charset === undefined || UTF8.has(charset) ? null : `the body has the charset ${shortened(charset)}`
}

const UTF8: ReadonlySet<string> = new Set(['utf-8', 'utf8'])

/**
 * Describes an unreadable body for the approval card. Returns null when the card shows the body, and when the body is
 * empty or was not read.
 */
export function describeUnread(exchange: Governed): UnreadBody | null {
  const { request, bodyBytes, connector } = exchange
  if (bodyBytes === undefined || bodyBytes.length === 0) return null
  if (wasScanned(exchange)) return null
  const view = parseBody(bodyBytes, request.body, [])
  if (!isRefusal(view) && view.kind !== 'opaque' && view.kind !== 'invalid') return null
  const { mediaType, encoding } = request.body
  const type = mediaType === undefined ? 'no media type' : `media type ${shortened(mediaType)}`
  const encoded = encoding === undefined ? '' : `, ${shortened(encoding)}-encoded`
  const facts = `${bodyBytes.length} bytes, ${type}${encoded}, SHA-256 ${bodyHash(bodyBytes)}`
  const quotes = connector.connector.quotesUnreadBody === true
  return {
    description: `The body is not shown${quotes ? ' in full' : ''}: ${facts}. ${quotes ? QUOTED : whyHeld(exchange)}`,
    excerpt: quotes ? excerptOf(bodyBytes) : null,
  }
}

const DECLARED_BY = { Connector: 'The Connector', row: 'The definition of the action' } as const
const QUOTED = 'The card shows the beginning of the body. An approval covers exactly this body.'

function whyHeld(exchange: Governed): string {
  const by = opaqueDeclaration(exchange) ?? 'Connector'
  return `${DECLARED_BY[by]} declares the body opaque, so the gateway does not read it. An approval covers exactly this body.`
}

const EXCERPT_BYTES = 1_024

/**
 * Returns the beginning of the body as text. Omits a character that the limit splits. Bytes that are not UTF-8 become
 * the replacement character.
 */
function excerptOf(bytes: Buffer): string {
  const isCut = bytes.length > EXCERPT_BYTES
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return storableText(decoder.decode(bytes.subarray(0, EXCERPT_BYTES), { stream: isCut }))
}

function shortened(label: string): string {
  return label.length <= 100 ? label : `${label.slice(0, 100)}…`
}
