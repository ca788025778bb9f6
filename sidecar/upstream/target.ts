import { isIP } from 'node:net'
import { leavesInClear } from '../../core/connectors/credentials/clear-text.ts'
import { authorityText, withoutBrackets } from '../../core/request/authority-text.ts'
import type { CanonicalRequest } from '../../core/request/canonical.ts'
import type { ConnectorEntry } from '../../core/wire/gateway/sync.ts'

/** Upstream of a request, with the expected identity of its server. Connections with equal `key` may be shared. */
export type UpstreamTarget = {
  readonly key: string
  readonly isTls: boolean
  /** Host name or IP literal that is resolved and dialed. */
  readonly host: string
  readonly port: number
  /** Server name (SNI) of the TLS handshake; empty for IP literals. */
  readonly servername: string
  /** Host names. The certificate of the server must be valid for at least one of them. */
  readonly identities: readonly string[]
  /** Value of the Host header: always the host that the agent requested. */
  readonly hostHeader: string
  /** Prefix that is added to every path: the path of the connector's own URL. */
  readonly pathPrefix: string
  readonly allowPrivateAddresses: boolean
  readonly caBundle: string | null
}

const HTTP_PORT = 80
const HTTPS_PORT = 443

type Known = Pick<CanonicalRequest, 'scheme' | 'port'> & { readonly target: UpstreamTarget }

/**
 * Cached targets by host. A host has few schemes and ports, and a key that joins host, scheme and port would cost 0.2
 * us for each request.
 */
const cached = new WeakMap<ConnectorEntry, Map<string, Known[]>>()

/**
 * Returns the upstream of a request. Results are cached for each connector entry and host. Entries are immutable and
 * replaced on change.
 */
export function targetOf(entry: ConnectorEntry, request: CanonicalRequest): UpstreamTarget {
  const { scheme, host, port } = request
  const hosts = cached.get(entry)
  const targets = hosts?.get(host) ?? NONE
  for (const known of targets) if (known.port === port && known.scheme === scheme) return known.target
  const target = connectorTarget(entry, request)
  if (targets.length < MAX_CACHED.targets) keep(entry, host, [...targets, { scheme, port, target }])
  return target
}

const NONE: readonly Known[] = []
/**
 * Maximum numbers of cached entries: of hosts for each connector, because a wildcard domain allows any number of hosts,
 * and of targets for each host.
 */
const MAX_CACHED = { hosts: 256, targets: 16 } as const

function keep(entry: ConnectorEntry, host: string, targets: Known[]): void {
  const hosts = cached.get(entry) ?? new Map<string, Known[]>()
  if (hosts.size === 0) cached.set(entry, hosts)
  if (hosts.has(host) || hosts.size < MAX_CACHED.hosts) hosts.set(host, targets)
}

/** Returns the upstream of a request to an allowed host that no connector owns: exactly the requested host and port. */
export function plainTarget(request: CanonicalRequest, allowPrivateAddresses: boolean): UpstreamTarget {
  const isTls = request.scheme === 'https'
  return {
    key: `-|${request.scheme}|${request.host}|${request.port}|${allowPrivateAddresses}`,
    isTls,
    host: request.host,
    port: request.port,
    servername: sniFor(request.host),
    identities: [request.host],
    hostHeader: authorityText(request.host, request.port, isTls ? HTTPS_PORT : HTTP_PORT),
    pathPrefix: '',
    allowPrivateAddresses,
    caBundle: null,
  }
}

/**
 * Returns the upstream of a connector. Connections use TLS, unless the connector's own URL has the scheme `http` and
 * private addresses are allowed.
 */
function connectorTarget(entry: ConnectorEntry, request: CanonicalRequest): UpstreamTarget {
  const { url, caBundle = null, allowPrivateAddresses } = entry.upstream
  const asked = requestedPort(request)
  const common = {
    key: [entry.id, request.host, asked, allowPrivateAddresses, url ?? '', caBundle ?? ''].join('|'),
    hostHeader: authorityText(request.host, asked, HTTPS_PORT),
    allowPrivateAddresses,
    caBundle,
  }
  if (url !== undefined) return { ...common, ...reroutedTo(new URL(url), request, allowPrivateAddresses) }
  return {
    ...common,
    isTls: true,
    host: request.host,
    port: asked,
    servername: sniFor(request.host),
    identities: [request.host],
    pathPrefix: '',
  }
}

/**
 * Returns the host and port of the connector's own URL. The certificate of the server may instead be valid for the
 * requested host, for example when the URL has an IP address.
 */
function reroutedTo(base: URL, request: CanonicalRequest, allowPrivate: boolean) {
  const isTls = !leavesInClear({ url: base.href, allowPrivateAddresses: allowPrivate })
  const host = withoutBrackets(base.hostname)
  const standard = isTls ? HTTPS_PORT : HTTP_PORT
  return {
    isTls,
    host,
    port: base.port === '' ? standard : Number(base.port),
    servername: sniFor(host) || sniFor(request.host),
    identities: [host, request.host],
    pathPrefix: base.pathname.replace(/\/+$/, ''),
  }
}

function sniFor(host: string): string {
  return isIP(host) === 0 ? host : ''
}

/** Returns the port to dial. A plain HTTP request to a connector's host is sent over TLS, so port 80 becomes 443. */
function requestedPort(request: CanonicalRequest): number {
  return request.scheme === 'http' && request.port === HTTP_PORT ? HTTPS_PORT : request.port
}
