import type { HeldRequest } from '../../../core/connectors/event-format.ts'
import { parseBody } from '../../../core/request/body/body.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { isGrpc } from '../../../core/request/grpc.ts'
import { HEADERS, LIMITS } from '../../../core/wire/schema/limits.ts'
import type { Exchange } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'
import { EVENTS_TYPE, upstreamError } from '../refusal/refusal-shape.ts'
import { EventReply } from './event-reply.ts'

const DEFAULT = { openAfterMs: LIMITS.heldEventsAfterMs, everyMs: LIMITS.heldEventsEveryMs } as const

/**
 * Replaces the reply of a held request whose client accepts server-sent events by one that can start an event stream
 * during the wait. Returns null for other clients.
 */
export function replyWithEvents(
  exchange: Exchange,
  { heldEvents = DEFAULT }: Pick<PipelinePorts, 'heldEvents'>,
): EventReply | null {
  // Responses over a WebSocket are messages, not event streams.
  if (exchange.channel !== undefined) return null
  const held = heldRequest(exchange)
  const format = (held && exchange.connector?.connector.eventFormat?.(held)) ?? null
  if (format === null) return null
  const reply = new EventReply(exchange.reply, {
    ...heldEvents,
    format,
    headers: headersOf(exchange),
    onOpen() {
      exchange.outcome.status = 200
    },
    errorOf: (error) => upstreamError(exchange, error),
  })
  exchange.reply = reply
  return reply
}

function heldRequest({
  kind,
  transport,
  raw,
  request,
  connector,
  actions,
  bodyBytes,
}: Exchange): HeldRequest | null {
  if (kind !== 'http' || transport === 'order' || isGrpc(raw.rawHeaders)) return null
  if (request === undefined || connector === undefined || actions === undefined || bodyBytes === undefined)
    return null
  return {
    request,
    actions,
    config: connector.config,
    body() {
      const view = parseBody(bodyBytes, request.body, [])
      return !isRefusal(view) && view.kind === 'json' ? view.value : undefined
    },
  }
}

function headersOf({ id }: Exchange): readonly string[] {
  return [
    ...['Content-Type', EVENTS_TYPE, 'Cache-Control', 'no-store'],
    ...[HEADERS.requestId, id, HEADERS.decision, 'require_approval'],
  ]
}
