import { type CanonicalRequest, isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import { readPairs } from '../../request/target.ts'
import type { BoundConnector } from '../registry.ts'
import { stripTarget } from './credentials.ts'

/** A request without the agent's credentials in its query. */
export type StrippedRequest = {
  readonly request: CanonicalRequest
  /**
   * True if the query lost a parameter that the API does not document for credentials. The parameter may select a
   * resource.
   */
  readonly losesOther: boolean
}

/**
 * Returns the request without credentials in its query. Runs before the classification, the decision and the approval,
 * so that none of them uses the agent's credential.
 */
export function stripRequest(
  request: CanonicalRequest,
  { connector, entry }: BoundConnector,
): StrippedRequest {
  if (request.rawQuery === '') return { request, losesOther: false }
  const { rawTarget, losesOther } = stripTarget(request.rawTarget, connector, entry.keepQuery ?? [])
  if (rawTarget === request.rawTarget) return { request, losesOther }
  const mark = rawTarget.indexOf('?')
  const rawQuery = mark === -1 ? '' : rawTarget.slice(mark + 1)
  const query = readPairs(rawQuery)
  return { request: { ...request, rawTarget, rawQuery, query: isRefusal(query) ? [] : query }, losesOther }
}

/** Returns the refusal of a write whose query lost a parameter that may select a resource. */
export function lostParameter({ entry }: BoundConnector): Refusal {
  return refusal(
    'ambiguous_request',
    `the query has a parameter with the name of a credential, and the gateway removes such parameters; send a credential in a header; if the parameter selects a resource, list the parameter in keepQuery of the Connector "${entry.name}"`,
  )
}
