import type { CanonicalRequest, RawHeaders } from '../../request/canonical.ts'
import { boundHeaders } from './bound-headers.ts'

/** One request of an agent through a gateway. */
export type FingerprintedRequest = {
  /** Name of the agent. */
  readonly agent: string
  readonly connectorType: string
  readonly request: Pick<CanonicalRequest, 'method' | 'scheme' | 'host' | 'port' | 'isUpgrade' | 'rawTarget'>
  readonly rawHeaders: RawHeaders
  /** Hex SHA-256 of the body; null for no body, `open` for a body without an end. */
  readonly body: string | null
}

/**
 * Returns the text whose SHA-256 is the fingerprint of a request. Equal texts mean that the upstream reads equal
 * requests, except for the documented ignored header fields. The text includes values that an approval card omits or
 * hides.
 */
export function fingerprintText({
  agent,
  connectorType,
  request,
  rawHeaders,
  body,
}: FingerprintedRequest): string {
  const { method, scheme, host, port, isUpgrade, rawTarget } = request
  const headers = boundHeaders(connectorType, rawHeaders).map(({ name, value }) => [name, value])
  return JSON.stringify([
    ...['request-1', agent, connectorType, method, scheme, host, port, isUpgrade, rawTarget],
    ...[headers, body],
  ])
}
