import type { CanonicalRequest, RawHeaders } from '../../request/canonical.ts'
import { boundHeaders } from './bound-headers.ts'

/** The parts of an agent's request that its fingerprint covers. */
export type FingerprintedRequest = {
  /** Name of the agent that sent the request. */
  readonly agent: string
  readonly connectorType: string
  readonly request: Pick<CanonicalRequest, 'method' | 'scheme' | 'host' | 'port' | 'isUpgrade' | 'rawTarget'>
  readonly rawHeaders: RawHeaders
  /** SHA-256 of the body in hex; null if there is no body; `open` for a body that may never end and has no hash. */
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
