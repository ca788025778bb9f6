import { headerValue } from '../../../core/request/headers/headers.ts'
import { Exchange, type ExchangeParts } from '../../pipeline/exchange.ts'
import type { PipelinePorts } from '../../pipeline/ports.ts'
import type { Reply } from '../../pipeline/reply.ts'
import type { RequestBody } from '../../pipeline/request-body.ts'
import type { Order, OrderRequest } from './execute.ts'

export type OrderExchangeParts = OrderRequest & {
  readonly ports: Pick<PipelinePorts, 'clock' | 'newId'>
  readonly reply: Reply
}

/**
 * Creates the exchange of an execution order: a request that the gateway makes on behalf of an agent, without listener
 * and socket.
 */
export function orderExchange(order: Order, parts: OrderExchangeParts): Exchange {
  const { request, actionType } = parts
  return new Exchange({
    ...gatewayParts(request, { ...parts, agent: order.agent }),
    transport: 'order',
    actId: order.action_request_id,
    order: {
      actionRequestId: order.action_request_id,
      actionType,
      approvalId: order.approval_id ?? null,
    },
  })
}

/** Creates the exchange of the read with which a user tests the credential of a connector. */
export function credentialTestExchange(connectorId: string, parts: OrderExchangeParts): Exchange {
  return new Exchange({
    ...gatewayParts(parts.request, { ...parts, agent: '' }),
    transport: 'system',
    system: { kind: 'credential_test', connectorId },
  })
}

export type GatewayExchangeParts = Pick<OrderExchangeParts, 'scheme' | 'ports' | 'reply'> & {
  readonly agent: string
}

/** Returns the parts of an exchange that are the same for all requests of the gateway itself. */
export function gatewayParts(
  request: OrderRequest['request'],
  { scheme, ports, reply, agent }: GatewayExchangeParts,
): Omit<ExchangeParts, 'transport'> {
  const bytes = request.body === undefined ? null : Buffer.from(request.body)
  return {
    id: ports.newId('request'),
    acceptedAt: ports.clock.monotonicMs(),
    timeMs: ports.clock.nowMs(),
    kind: 'http',
    raw: {
      method: request.method,
      target: request.target,
      rawHeaders: headersOf(request, bytes),
      httpVersion: '1.1',
      scheme,
      sources: {},
    },
    // The gateway does not authenticate the agent here, because the control plane has verified the agent's key and
    // token.
    credentials: { kind: 'port', agent },
    body: bodyOf(bytes),
    reply,
    abort: new AbortController(),
    bodyBytes: bytes ?? undefined,
  }
}

function headersOf(request: OrderRequest['request'], bytes: Buffer | null): string[] {
  const length = bytes === null ? [] : ['Content-Length', String(bytes.length)]
  // `Accept: */*` is added only to a request without an Accept header, because some servers read only the first of two
  // Accept headers.
  const accept = headerValue(request.headers, 'accept') === undefined ? ['Accept', '*/*'] : []
  return ['Host', request.host, 'User-Agent', 'chaperone', ...accept, ...length, ...request.headers]
}

function bodyOf(bytes: Buffer | null): RequestBody {
  return {
    isEmpty: bytes === null,
    arrived: () => bytes ?? Buffer.alloc(0),
    peek: async () => bytes ?? Buffer.alloc(0),
    endsWithin: async () => true,
    buffer: async (limit) => (bytes === null || bytes.length <= limit ? (bytes ?? Buffer.alloc(0)) : null),
    forward: () => bytes,
    release: () => undefined,
    bytesIn: bytes?.length ?? 0,
  }
}
