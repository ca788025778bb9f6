import { normaliseHost } from '../request/authority.ts'
import type { CanonicalRequest } from '../request/canonical.ts'
import type { ConnectorConfig, UserRow } from './connector.ts'
import type { PathSegments } from './rows/rows.ts'

/** Parsed `baseUrl` of a self-hosted instance. */
export type Base = {
  readonly scheme: 'http' | 'https'
  readonly host: string
  readonly port: number
  readonly segments: readonly string[]
}

/** Parses the `baseUrl` of a Connector; null if it is missing or not an http(s) URL. */
export function baseOf(config: Pick<ConnectorConfig, 'baseUrl'>): Base | null {
  if (config.baseUrl === undefined) return null
  const match = /^(https?):\/\/(\[[^\]]+\]|[^/:?#@]+)(?::([0-9]+))?(\/[^?#]*)?$/i.exec(config.baseUrl)
  const host = normaliseHost(match?.[2] ?? '')
  if (match === null || host === null) return null
  const scheme = match[1]?.toLowerCase() === 'http' ? 'http' : 'https'
  const port = match[3] === undefined ? (scheme === 'http' ? 80 : 443) : Number(match[3])
  return { scheme, host, port, segments: (match[4] ?? '').split('/').filter((segment) => segment !== '') }
}

/**
 * Returns the configured domains. Without them, returns none for a self-hosted instance, whose host comes from
 * `baseUrl` (see `indexConnectors`), and the provider's own domains otherwise.
 */
export function ownedDomains(config: ConnectorConfig, defaults: readonly string[]): readonly string[] {
  if (config.domains.length > 0) return config.domains
  return config.baseUrl === undefined ? defaults : []
}

/** Returns the path of the request below the first matching prefix; null if none matches. */
export function stripPrefix(
  request: CanonicalRequest,
  prefixes: readonly (readonly string[])[],
): PathSegments | null {
  const prefix = prefixes.find((one) => one.every((segment, i) => request.segments[i] === segment))
  if (prefix === undefined) return null
  if (prefix.length === 0) return request
  return {
    rawSegments: request.rawSegments.slice(prefix.length),
    segments: request.segments.slice(prefix.length),
  }
}

/**
 * Returns the address of the connector for `/execute`: `host[:port]`, the path prefix of its base URL, and its
 * declared rows. If the base URL ends in `root`, the prefix omits `root`, because the templates begin with it.
 */
export function executeAddress(
  config: ConnectorConfig,
  fallback: string,
  root?: string,
): { host: string; prefix: string; declared: readonly UserRow[] } {
  const base = baseOf(config)
  const declared = config.actions
  if (base !== null) {
    const isDefault = base.port === (base.scheme === 'http' ? 80 : 443)
    const above = base.segments.at(-1) === root ? base.segments.slice(0, -1) : base.segments
    const prefix = above.map((segment) => `/${segment}`).join('')
    return { host: isDefault ? base.host : `${base.host}:${base.port}`, prefix, declared }
  }
  const host = config.domains.find((domain) => !domain.startsWith('*')) ?? fallback
  return { host, prefix: '', declared }
}
