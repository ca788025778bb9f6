import type { ErrorObject } from '../../../core/connectors/event-format.ts'
import { isRecord } from '../../../core/connectors/fields/fields.ts'
import { connectorOfType } from '../../../core/connectors/registry.ts'
import { ERRORS, type ErrorCode } from '../../../core/errors.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { Exchange } from '../exchange.ts'
import type { MessageChannel } from '../inner-exchanges.ts'
import { isFinalStatus, type UpstreamError } from '../response/event-answer.ts'
import type { Refused } from './refuse.ts'

export type Answer = { readonly status: number; readonly contentType: string; readonly body: string }

const JSON_TYPE = 'application/json'
export const EVENTS_TYPE = 'text/event-stream'
const JSON_RPC_DENIED = -32001
const JSON_RPC_INTERNAL = -32603

/**
 * Formats a refusal as its client expects it: an event on a WebSocket or in an open event stream, JSON-RPC for a denied
 * MCP request with an id, plain text for git, the provider's error format if the connector requires it, otherwise
 * `{error, message, …}`.
 */
export function shapeRefusal(exchange: Exchange, refused: Refused, body: Record<string, unknown>): Answer {
  const { status } = ERRORS[refused.code]
  if (exchange.channel !== undefined) return eventAnswer(exchange.channel, body, status)
  const { events } = exchange.reply
  if (events !== undefined) {
    const text = events.format.failure(errorObject(exchange, status, body), isFinalStatus(status))
    // The status is 200, because the event stream has started with it.
    return { status: 200, contentType: EVENTS_TYPE, body: text }
  }
  const rpc = isMcp(exchange) ? jsonRpcAnswer(exchange, refused.code, body) : null
  if (rpc !== null) return rpc
  if (isGit(exchange)) {
    const text = `${body['error']}: ${body['message']}\n`
    return { status, contentType: 'text/plain; charset=utf-8', body: text }
  }
  const provider =
    exchange.connector?.entry.errorShape === 'provider' ? providerAnswer(exchange, body, status) : null
  return provider ?? { status, contentType: JSON_TYPE, body: JSON.stringify(body) }
}

/**
 * Returns an error as the object of an event, in the format of the connector's type. Used for refusals and upstream
 * errors.
 */
function errorObject(exchange: Exchange, status: number, body: ErrorObject): ErrorObject {
  const text = String(body['message'])
  const own = exchange.connector?.connector.providerError
  if (own !== undefined) return own.format({ text, status, body }).value
  const code = status === 403 ? JSON_RPC_DENIED : JSON_RPC_INTERNAL
  const id = exchange.reply.events?.format.rpcId ?? null
  return { jsonrpc: '2.0', id, error: { code, message: text, data: body } }
}

/**
 * Returns the upstream's error as the object of an event. An error that already has the format of the API is returned
 * unchanged.
 */
export function upstreamError(exchange: Exchange, { status, text, body }: UpstreamError): ErrorObject {
  const id = exchange.reply.events?.format.rpcId
  const isOwn =
    id === undefined ? isRecord(body?.['error']) : body?.['jsonrpc'] === '2.0' && body['id'] === id
  return isOwn && body !== null ? body : errorObject(exchange, status, { message: text })
}

function isMcp(exchange: Exchange): boolean {
  return exchange.connector?.connector.name === 'mcp' && exchange.bodyBytes !== undefined
}

/**
 * Returns the refusal as a JSON-RPC error for decisions (403). Returns null for a body without a JSON-RPC request, and
 * for other errors, which keep their HTTP status, because a client should retry or fix the request.
 */
function jsonRpcAnswer(exchange: Exchange, code: ErrorCode, body: Record<string, unknown>): Answer | null {
  if (ERRORS[code].status !== 403) return null
  const message = parseJson(exchange.bodyBytes)
  const isBatch = Array.isArray(message)
  const answers = (isBatch ? message : [message]).flatMap((each: unknown) => {
    const id = requestId(each)
    if (id === undefined) return []
    return [{ jsonrpc: '2.0', id, error: { code: JSON_RPC_DENIED, message: body['message'], data: body } }]
  })
  if (answers.length === 0) return null
  return { status: 200, contentType: JSON_TYPE, body: JSON.stringify(isBatch ? answers : answers[0]) }
}

function requestId(message: unknown): string | number | undefined {
  if (typeof message !== 'object' || message === null || !('id' in message) || !('method' in message))
    return undefined
  return typeof message.id === 'string' || typeof message.id === 'number' ? message.id : undefined
}

function parseJson(bytes: Buffer | undefined): unknown {
  if (bytes === undefined) return null
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    // A body that is not JSON is not JSON-RPC, so the client expects no JSON-RPC error.
    return null
  }
}

function isGit(exchange: Exchange): boolean {
  return headerValue(exchange.raw.rawHeaders, 'user-agent')?.startsWith('git/') === true
}

function providerAnswer(exchange: Exchange, body: Record<string, unknown>, status: number): Answer | null {
  const error = exchange.connector?.connector.providerError
  if (error === undefined) return null
  const text = String(body['message'])
  const { status: own = status, value } = error.format({ text, status, body })
  return { status: own, contentType: JSON_TYPE, body: JSON.stringify(value) }
}

/** Returns a refusal as a WebSocket event in the provider's error format, with the gateway's fields added. */
function eventAnswer(
  { connectorType, streamId }: MessageChannel,
  body: Record<string, unknown>,
  status: number,
): Answer {
  const { error, message, retry_after: seconds, ...fields } = body
  const own = connectorOfType(connectorType).providerError
  const shape = own?.format({ text: String(message), status, body }).value
  const event = {
    type: 'error',
    status,
    ...(seconds === undefined ? {} : { headers: { 'retry-after': String(seconds) } }),
    ...(streamId === null ? {} : { stream_id: streamId }),
    ...fields,
    ...(shape ?? { error: { message: String(message), code: String(error) } }),
  }
  return { status, contentType: JSON_TYPE, body: JSON.stringify(event) }
}
