import { authorityText } from './authority-text.ts'
import { type CanonicalRequest, type Refusal, refusal } from './canonical.ts'
import { canonicalise } from './canonicalise.ts'

/**
 * Returns the request that a client would send for this method and URL, without a body. The function does not use a URL
 * parser, because a normalised URL could be another request.
 */
export function requestOf(
  method: string,
  url: string,
  headers: readonly string[] = [],
): CanonicalRequest | Refusal {
  const match = /^(https?):\/\/([^/?#]+)([^#]*)/i.exec(url)
  if (match === null) {
    return refusal('malformed_request', 'the URL must be absolute, such as https://api.example.com/path')
  }
  const [, scheme = '', authority = '', rest = ''] = match
  return canonicalise({
    method,
    target: rest.startsWith('/') ? rest : `/${rest}`,
    rawHeaders: ['Host', authority, ...headers],
    httpVersion: '1.1',
    scheme: scheme.toLowerCase() === 'http' ? 'http' : 'https',
    sources: {},
  })
}

/**
 * Returns the CONNECT request to the host. For a connection that the gateway does not decrypt, the gateway receives no
 * other request.
 */
export function tunnelRequest({ host, port }: CanonicalRequest): CanonicalRequest | Refusal {
  const authority = authorityText(host, port)
  return canonicalise({
    method: 'CONNECT',
    target: authority,
    rawHeaders: ['Host', authority],
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  })
}
