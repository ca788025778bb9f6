import type { CanonicalRequest } from '../../request/canonical.ts'
import { headerValues } from '../../request/headers.ts'
import type { ConnectorConfig } from '../connector.ts'
import { baseOf } from '../domains.ts'

/**
 * `endpoint`: the path is the MCP endpoint, declared or one of the usual ones. `open`: no endpoint is declared, so
 * JSON by POST is read as JSON-RPC here as well. `near`: an endpoint is declared, and a server may take this path for it.
 * `other`: an endpoint is declared, and this path is none.
 */
export type PathKind = 'endpoint' | 'open' | 'near' | 'other'

/**
 * Where servers have their endpoint unless configured otherwise. Only exact paths: a rule such as "ends in `/mcp`" would
 * let an agent delete a thing of that name as the end of a session.
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
 * As routers read a path that ignore case, path parameters, encoded slashes, formats (`.json`) and what pads a segment;
 * many take the paths below as well.
 */
function looseSegments(segments: readonly string[]): readonly string[] {
  return segments
    .flatMap((segment) => segment.replace(/;.*$/s, '').toLowerCase().split(/[\\/]/))
    .map((segment) => segment.replace(/\.(?:json|xml)$/, '').replace(/^\s+|(?<![\s.])[\s.]+$/g, ''))
    .filter((segment) => segment !== '')
}

/** GET that asks for the server's event stream. */
export function opensStream(request: CanonicalRequest): boolean {
  return request.method === 'GET' && acceptsEvents(request)
}

/** True when the client names the type of event streams; a wildcard is no such sign. */
export function acceptsEvents({ rawHeaders }: CanonicalRequest): boolean {
  const accepted = headerValues(rawHeaders, 'accept').flatMap((value) => value.toLowerCase().split(','))
  return accepted.some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    return type === 'text/event-stream' && !parameters.some((one) => /^q\s*=\s*0(?:\.0*)?$/.test(one))
  })
}

/** DELETE that names one session. Without one it deletes whatever else the server has at this path. */
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

/** A slash at the end names the same resource to every server that has one. */
function isPath(segments: readonly string[], path: readonly string[]): boolean {
  const length = segments.at(-1) === '' ? segments.length - 1 : segments.length
  return length === path.length && path.every((segment, at) => segments[at] === segment)
}
