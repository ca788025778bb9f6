import type { CanonicalRequest } from '../../request/canonical.ts'
import { headerValues } from '../../request/headers/headers.ts'
import type { ConnectorConfig } from '../connector.ts'
import { baseOf } from '../domains.ts'

/**
 * Relation of a path to the MCP endpoint. `endpoint`: the path is the endpoint, declared or usual. `open`: no endpoint
 * is declared, so JSON in a POST to the path is read as JSON-RPC. `near`: an endpoint is declared, and a server may
 * treat this path as the endpoint. `other`: an endpoint is declared, and this path is different.
 */
export type PathKind = 'endpoint' | 'open' | 'near' | 'other'

/**
 * Usual endpoint paths of MCP servers. Only exact paths count: a rule such as "ends in `/mcp`" would treat the
 * deletion of a resource of that name as the end of a session.
 */
const USUAL = ['/', '/mcp', '/sse', '/mcp/sse', '/mcp/v1', '/v1/mcp', '/v1/sse', '/api/mcp'].map(segmentsOf)

export function pathKind({ segments }: CanonicalRequest, config: ConnectorConfig): PathKind {
  const { endpoint } = config
  if (endpoint !== undefined) return kindBeside(segments, endpoint.map(segmentsOf))
  const base = baseOf(config)?.segments
  const isEndpoint =
    (base !== undefined && isPath(segments, base)) || USUAL.some((path) => isPath(segments, path))
  return isEndpoint ? 'endpoint' : 'open'
}

function kindBeside(
  segments: readonly string[],
  endpoints: ReadonlyArray<readonly string[]>,
): 'endpoint' | 'near' | 'other' {
  if (endpoints.some((path) => isPath(segments, path))) return 'endpoint'
  const loose = looseSegments(segments)
  return endpoints.some((path) => looseSegments(path).every((segment, at) => segment === loose[at]))
    ? 'near'
    : 'other'
}

/**
 * Normalizes path segments like routers that ignore case, path parameters, encoded slashes, formats (`.json`) and
 * padding. Many of these routers also match all paths below a route.
 */
function looseSegments(segments: readonly string[]): readonly string[] {
  return segments
    .flatMap((segment) => segment.replace(/;.*$/s, '').toLowerCase().split(/[\\/]/))
    .map((segment) => segment.replace(/\.(?:json|xml)$/, '').replace(/^\s+|(?<![\s.])[\s.]+$/g, ''))
    .filter((segment) => segment !== '')
}

/** True for a GET that requests the server's event stream. */
export function opensStream(request: CanonicalRequest): boolean {
  return request.method === 'GET' && acceptsEvents(request)
}

/** True if the client accepts the media type of event streams explicitly; a wildcard does not count. */
export function acceptsEvents({ rawHeaders }: CanonicalRequest): boolean {
  const accepted = headerValues(rawHeaders, 'accept').flatMap((value) => value.toLowerCase().split(','))
  return accepted.some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    return type === 'text/event-stream' && !parameters.some((one) => /^q\s*=\s*0(?:\.0*)?$/.test(one))
  })
}

/**
 * Reports whether the request ends a session: a DELETE with one session id. A DELETE without a session id deletes
 * another resource at this path.
 */
export function endsSession({ method, rawHeaders }: CanonicalRequest): boolean {
  if (method !== 'DELETE') return false
  const sessions = headerValues(rawHeaders, 'mcp-session-id')
  return sessions.length === 1 && sessions[0]?.trim() !== ''
}

function segmentsOf(path: string): readonly string[] {
  return path
    .split('/')
    .slice(1)
    .filter((segment, at, all) => segment !== '' || at < all.length - 1)
}

/** Reports whether the segments are this path. Servers treat a path with and without a trailing slash alike. */
function isPath(segments: readonly string[], path: readonly string[]): boolean {
  const length = segments.at(-1) === '' ? segments.length - 1 : segments.length
  return length === path.length && path.every((segment, at) => segments[at] === segment)
}
