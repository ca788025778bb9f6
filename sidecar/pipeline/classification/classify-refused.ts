import { classify, decidingKeys } from '../../../core/connectors/classify.ts'
import type { Classification } from '../../../core/connectors/connector.ts'
import { parseBody } from '../../../core/request/body/body.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { hasReadableBody } from '../body/body-facts.ts'
import { Evaluation } from '../evaluation.ts'
import type { Exchange } from '../exchange.ts'
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
export function classifyRefused(exchange: Exchange): undefined | Promise<undefined> {
  const { connector: bound, request, actions } = exchange
  if (bound === undefined || request === undefined || actions !== undefined) return undefined
  const provisional = classifyByRequestLine(bound, request, exchange.body.isEmpty)
  if (isRefusal(provisional)) settle(exchange, classify(bound, request, { kind: 'absent' }))
  else settle(exchange, provisional.named)
  const isByBody = isRefusal(provisional) || isSettledByBody(provisional.named)
  return isByBody && hasArrived(exchange) ? classifyByBody(exchange) : undefined
}

function hasArrived(exchange: Exchange): boolean {
  const { length, encoding } = exchange.request?.body ?? {}
  const isHere = length === exchange.body.bytesIn && encoding === undefined
  return isHere && (length ?? 0) <= MAX_READ && hasReadableBody(exchange)
}

async function classifyByBody(exchange: Exchange): Promise<undefined> {
  const { connector: bound, request } = exchange
  const bytes = await exchange.body.buffer(MAX_READ)
  if (bytes === null || bound === undefined || request === undefined) return
  const view = parseBody(bytes, request.body, decidingKeys(bound, request))
  if (!isRefusal(view)) settle(exchange, classify(bound, request, view))
}

function settle(exchange: Exchange, named: Classification): void {
  if (isRefusal(named)) return
  exchange.evaluation = new Evaluation(undefined, named)
}
