import { type CanonicalRequest, type Refusal, refusal } from '../../request/canonical.ts'
import { headerName } from '../../request/headers/header-names.ts'
import type { BoundConnector } from '../registry.ts'

/**
 * Refuses a header by which the request acts as another user, unless the Connector lists the header. Servers trust
 * these headers because of the credential that the gateway adds.
 */
export function judgeImpersonation(
  { entry }: BoundConnector,
  { rawHeaders }: CanonicalRequest,
): Refusal | null {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const { lower, isImpersonation } = headerName(rawHeaders[at] ?? '')
    if (!isImpersonation || isListed(lower, entry.impersonationHeaders)) continue
    const detail = `the header ${lower} lets the request act as another user, and impersonationHeaders of the Connector "${entry.name}" does not list the header; remove the header, or list it there`
    return refusal('ambiguous_request', detail)
  }
  return null
}

function isListed(lower: string, listed: readonly string[] = []): boolean {
  return listed.some((name) => name.toLowerCase() === lower)
}
