import { isRecord } from '../../../core/connectors/fields/fields.ts'
import { ERRORS } from '../../../core/errors.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { ResultBody } from '../../../core/wire/gateway/sync.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isAnswered } from '../../pipeline/phases.ts'
import type { Reply } from '../../pipeline/reply.ts'

/** Captures in memory the response to a request that the control plane ordered. */
export type ReplyCapture = { readonly reply: Reply; read(): CapturedReply }
export type CapturedReply = {
  readonly status: number
  readonly contentType: string
  readonly body: Buffer
  /** True when the upstream sent the whole body and the body fits the size limit. */
  readonly isWhole: boolean
}

const MAX_BYTES = 1024 * 1024

export function createReplyCapture(): ReplyCapture {
  const chunks: Buffer[] = []
  let status = 0
  let contentType = ''
  let state: 'open' | 'streaming' | 'ended' | 'cut' = 'open'
  let bytesOut = 0
  let isTooLong = false

  const keep = (chunk: Buffer): void => {
    bytesOut += chunk.length
    if (bytesOut <= MAX_BYTES) chunks.push(Buffer.from(chunk))
    else isTooLong = true
  }
  const start = (given: number, headers: readonly string[], next: typeof state): void => {
    status = given
    contentType = headerValue(headers, 'content-type') ?? ''
    state = next
  }

  const reply: Reply = {
    get isStarted() {
      return state !== 'open'
    },
    get bytesOut() {
      return bytesOut
    },
    send(given, headers, body) {
      start(given, headers, 'ended')
      keep(Buffer.from(body))
    },
    stream(given, headers) {
      start(given, headers, 'streaming')
      return {
        write(chunk) {
          keep(chunk)
          return true
        },
        // The reply is captured in memory, so writers never have to wait.
        onDrain: (callback) => callback(),
        end() {
          state = 'ended'
        },
        destroy() {
          state = 'cut'
        },
      }
    },
    interim: () => undefined,
    upgrade() {
      throw new Error(
        'an action that is submitted to the control plane cannot upgrade its connection, for example to a WebSocket',
      )
    },
  }
  return {
    reply,
    read: () => ({
      status,
      contentType,
      body: Buffer.concat(chunks),
      isWhole: state === 'ended' && !isTooLong,
    }),
  }
}

/** Returns the result for the control plane. `ok` is true when the upstream answered without a server error. */
export function answerOf(
  exchange: Exchange,
  capture: ReplyCapture,
): Omit<ResultBody, 'order_id' | 'action_request_id'> {
  const captured = capture.read()
  const { status } = captured
  const { outcome } = exchange
  const isOwn = outcome.denyReason !== null || outcome.errorCode !== null
  if (isOwn) return { ok: false, status: status || null, result: null, error: errorOf(outcome, captured) }
  if (!isAnswered(exchange)) {
    return {
      ok: false,
      status: null,
      result: null,
      error: 'the request was aborted before the upstream answered',
    }
  }
  if (status >= 500) return { ok: false, status, result: null, error: `the upstream answered ${status}` }
  return { ok: true, status, result: resultOf(captured), error: null }
}

/**
 * Returns the error text of a refusal, from the body that an agent would have received. The body has the product's own
 * format, is a JSON-RPC error, or has the format of the provider. The reason of the record is not used, because it may
 * name rules that the body does not name.
 */
function errorOf({ errorCode }: Exchange['outcome'], { body }: CapturedReply): string {
  const parsed = jsonOf(body)
  const { error, message } = isRecord(parsed) ? parsed : {}
  const text = typeof error === 'string' ? error : ERRORS[errorCode ?? 'internal'].error
  const own = isRecord(error) ? error['message'] : message
  return typeof own !== 'string' || own === text ? text : `${text}: ${own}`
}

/** Returns parsed JSON or text; null for other content, a truncated body, or a body above the limit. */
function resultOf({ contentType, body, isWhole }: CapturedReply): unknown {
  if (!isWhole || body.length === 0) return null
  if (/[/+]json\b/i.test(contentType)) return jsonOf(body) ?? null
  return /^text\//i.test(contentType) ? body.toString('utf8') : null
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
