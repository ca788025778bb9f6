import { agreeOnHost } from './authority.ts'
import { splitAuthority } from './authority-text.ts'
import { type CanonicalRequest, isRefusal, type RawRequest, type Refusal, refusal } from './canonical.ts'
import { readBodyInfo } from './framing.ts'
import { type HeaderFacts, listItems, readHeaders } from './headers/header-rules.ts'
import { judgePairs } from './method-override.ts'
import { readPairs, readPath, type SplitTarget, splitTarget } from './target.ts'

/**
 * Parses a request once, for classification, approval binding and forwarding. Never changes a byte of path or query.
 * Returns a refusal if two common servers could read the request differently: `ambiguous_request` or
 * `malformed_request` (400), `method_not_allowed` (405), `misdirected` (421), `headers_too_large` (431).
 */
export function canonicalise(raw: RawRequest): CanonicalRequest | Refusal {
  const facts = readHeaders(raw)
  if (isRefusal(facts)) return facts
  const wrongMethod = judgeMethod(raw.method)
  if (wrongMethod !== null) return wrongMethod
  if (raw.method === 'CONNECT') return readConnect(raw, facts)
  const target = splitTarget(raw.target)
  if (isRefusal(target)) return target
  const scheme = agreeOnScheme(raw, target)
  if (isRefusal(scheme)) return scheme
  return assemble(raw, facts, target, scheme)
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

function judgeMethod(method: string): Refusal | null {
  if (KNOWN_METHODS.has(method)) return null
  if (method === 'TRACE' || method === 'TRACK')
    return refusal(
      'method_not_allowed',
      `the gateway does not forward the method ${method}, because its answer can contain the credential that the gateway adds`,
    )
  if (KNOWN_METHODS.has(method.toUpperCase())) {
    return refusal('ambiguous_request', `the method is not in upper case; send ${method.toUpperCase()}`)
  }
  const isWord = /^[A-Z][A-Z-]{0,31}$/.test(method)
  return isWord ? null : refusal('method_not_allowed', 'the method must consist of upper-case letters')
}

function agreeOnScheme(raw: RawRequest, target: SplitTarget): 'http' | 'https' | Refusal {
  if (target.scheme === undefined || target.scheme === raw.scheme) return raw.scheme
  if (raw.httpVersion === '2') return refusal('malformed_request', 'an HTTP/2 :path must begin with /')
  // A client of the explicit proxy may request https over plain HTTP. A request inside of TLS must not request plain
  // http.
  if (raw.scheme === 'http' && raw.sources.connectAuthority === undefined) return target.scheme
  return refusal(
    'misdirected',
    `the request target has the scheme ${target.scheme}, but the connection uses ${raw.scheme}`,
  )
}

function assemble(
  raw: RawRequest,
  facts: HeaderFacts,
  target: SplitTarget,
  scheme: 'http' | 'https',
): CanonicalRequest | Refusal {
  const hostHeader = facts.host
  if (hostHeader === undefined && raw.httpVersion === '1.1') {
    return refusal('malformed_request', 'an HTTP/1.1 request needs one Host header')
  }
  const authority = agreeOnHost(raw, scheme, hostHeader, target.authority)
  if (isRefusal(authority)) return authority
  const path = readPath(target.rawPath)
  if (isRefusal(path)) return path
  const query = readPairs(target.rawQuery)
  if (isRefusal(query)) return query
  const body = readBodyInfo(facts, raw.httpVersion)
  if (isRefusal(body)) return body
  const isUpgrade = asksForUpgrade(facts)
  if (isUpgrade && raw.method !== 'GET') {
    return refusal(
      'ambiguous_request',
      `a WebSocket handshake must be a GET; send ${raw.method} without Upgrade`,
    )
  }
  const overriding = judgePairs(query, target.rawQuery, 'query parameter')
  if (overriding !== null) return overriding
  // This code runs for every request. One object literal is faster than spreads.
  return {
    method: raw.method,
    scheme,
    host: authority.host,
    port: authority.port,
    rawTarget: target.rawTarget,
    rawPath: target.rawPath,
    rawQuery: target.rawQuery,
    rawSegments: path.rawSegments,
    segments: path.segments,
    query,
    rawHeaders: raw.rawHeaders,
    body,
    isUpgrade,
  }
}

function asksForUpgrade({ upgrade, connection }: HeaderFacts): boolean {
  return isWebSocket(upgrade) && listItems(connection).includes('upgrade')
}

/**
 * Reports whether the upgrade is to WebSocket, the only supported protocol. Any other offer (`h2c`, a list) is ignored,
 * as RFC 9110 allows: the gateway drops the hop-by-hop fields of the request and serves the request over HTTP.
 */
export function isWebSocket(upgrade: string | null | undefined): boolean {
  return upgrade?.length === 9 && upgrade.toLowerCase() === 'websocket'
}

/**
 * Returns the Host field of a CONNECT, with the port of the request target if the field has none. Some clients, such as
 * undici for port 80, leave out the port.
 */
function withPortOf(target: string, host: string | undefined): string | undefined {
  const { port } = splitAuthority(target)
  return host === undefined || port === null || splitAuthority(host).port !== null ? host : `${host}:${port}`
}

/**
 * Parses a CONNECT for a tunnel whose content is not inspected. The request has no path. Its target is the authority,
 * and a Host field, if present, must equal it.
 */
function readConnect(raw: RawRequest, facts: HeaderFacts): CanonicalRequest | Refusal {
  const authority = agreeOnHost(raw, 'https', raw.target, withPortOf(raw.target, facts.host))
  if (isRefusal(authority)) return authority
  return {
    method: 'CONNECT',
    scheme: 'https',
    ...authority,
    rawTarget: raw.target,
    rawPath: '',
    rawQuery: '',
    rawSegments: [],
    segments: [],
    query: [],
    rawHeaders: raw.rawHeaders,
    body: { isChunked: false },
    isUpgrade: false,
  }
}
