import { classify, decidingKeys } from '../../../core/connectors/classify.ts'
import type { Classification } from '../../../core/connectors/connector.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { parseBody } from '../../../core/request/body/body.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { hasReadableBody } from '../body/body-facts.ts'
import { type Parsed, setActions, startEvaluation } from '../phases.ts'
import { classifyByRequestLine, isSettledByBody } from './provisional-classification.ts'

/**
 * Limit in bytes of a body that is read to classify a refused request. Most calls that are classified by their body are
 * far smaller.
 */
const MAX_READ = 16 * 1024

/**
 * Classifies a request that is refused before its classification. Only the record uses the result, no decision. The
 * request line suffices for most requests. Where the class depends on the body, a body that has already arrived is
 * read; otherwise the strictest candidate represents the request.
 */
export function classifyRefused(exchange: Parsed, bound: BoundConnector): undefined | Promise<undefined> {
  const { request } = exchange
  const provisional = classifyByRequestLine(bound, request, exchange.body.isEmpty)
  if (isRefusal(provisional)) settle(exchange, classify(bound, request, { kind: 'absent' }))
  else settle(exchange, provisional.named)
  const isByBody = isRefusal(provisional) || isSettledByBody(provisional.named)
  return isByBody && hasArrived(exchange) ? classifyByBody(exchange, bound) : undefined
}

function hasArrived(exchange: Parsed): boolean {
  const { length, encoding } = exchange.request.body
  const isHere = length === exchange.body.bytesIn && encoding === undefined
  return isHere && (length ?? 0) <= MAX_READ && hasReadableBody(exchange)
}

async function classifyByBody(exchange: Parsed, bound: BoundConnector): Promise<undefined> {
  const { request } = exchange
  const bytes = await exchange.body.buffer(MAX_READ)
  if (bytes === null) return
  const view = parseBody(bytes, request.body, decidingKeys(bound, request))
  if (!isRefusal(view)) settle(exchange, classify(bound, request, view))
}

function settle(exchange: Parsed, named: Classification): void {
  if (isRefusal(named)) return
  startEvaluation(exchange)
  setActions(exchange, named)
}
