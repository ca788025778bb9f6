import { classify, decidingKeys } from '../../../core/connectors/classify.ts'
import type { Classification } from '../../../core/connectors/connector.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { parseBody } from '../../../core/request/body/body.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { hasReadableBody } from '../body/body-facts.ts'
import { type BodyReader, hasArrived } from '../body/body-reader.ts'
import { type Parsed, setActions, startEvaluation } from '../phases.ts'
import { classifyByRequestLine, isSettledByBody } from './provisional-classification.ts'

/**
 * Limit in bytes of a body that is read to classify a refused request. Most bodies that classify a call are far
 * smaller.
 */
const MAX_READ = 16 * 1024

/**
 * Classifies a request that is refused before its classification. The result is used only for the record, not for a
 * decision. The request line suffices for most requests. Where the action depends on the body, a body that has already
 * arrived is read; otherwise the strictest candidate represents the request.
 */
export function classifyRefused(
  exchange: Parsed,
  bound: BoundConnector,
  reader: BodyReader,
): undefined | Promise<undefined> {
  const { request } = exchange
  const provisional = classifyByRequestLine(bound, request, exchange.body.isEmpty)
  if (isRefusal(provisional)) settle(exchange, classify(bound, request, { kind: 'absent' }))
  else settle(exchange, provisional.named)
  const isByBody = isRefusal(provisional) || isSettledByBody(provisional.named)
  const isRead = isByBody && hasArrived(exchange, MAX_READ) && hasReadableBody(exchange)
  return isRead ? classifyByBody(exchange, bound, reader) : undefined
}

async function classifyByBody(
  exchange: Parsed,
  bound: BoundConnector,
  reader: BodyReader,
): Promise<undefined> {
  const { request } = exchange
  // The body has arrived. The function uses `peek` and not `read`, because `read` would set `bodyBytes`, and the
  // refusal of an MCP request would then become a JSON-RPC error.
  const bytes = await reader.peek(exchange, MAX_READ, () => 0)
  const view = parseBody(bytes, request.body, decidingKeys(bound, request))
  if (!isRefusal(view)) settle(exchange, classify(bound, request, view))
}

function settle(exchange: Parsed, named: Classification): void {
  if (isRefusal(named)) return
  startEvaluation(exchange)
  setActions(exchange, named)
}
