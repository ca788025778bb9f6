import { isIP } from 'node:net'
import { leavesInClear } from '../../core/connectors/credentials/clear-text.ts'
import type { CanonicalRequest } from '../../core/request/canonical.ts'
import type { ConnectorEntry } from '../../core/wire/gateway/sync.ts'

/** The upstream of a request and how it is authenticated. Connections with equal `key` may be shared. */
export type UpstreamTarget = {
  readonly key: string
  readonly isTls: boolean
  /** Name or IP literal that is resolved and dialled. */
  readonly host: string
  readonly port: number
  /** SNI; empty for IP literals. */
  readonly servername: string
  /** The certificate must be good for one of them. */
  readonly identities: readonly string[]
  /** Value of the Host header: always the host that the agent requested. */
  readonly hostHeader: string
  /** Put before every path when the connector's own URL has one. */
  readonly pathPrefix: string
  readonly allowPrivateAddresses: boolean
  readonly caBundle: string | null
}

const HTTP_PORT = 80
const HTTPS_PORT = 443

const cached = new WeakMap<ConnectorEntry, Map<string, UpstreamTarget>>()

/** Where a request goes. Targets of a connector are made once per host: entries never change, they are replaced. */
export function targetOf(entry: ConnectorEntry, request: CanonicalRequest): UpstreamTarget {
  const known = cached.get(entry) ?? new Map<string, UpstreamTarget>()
  const where = `${request.scheme}:${request.host}:${request.port}`
  const target = known.get(where) ?? connectorTarget(entry, request)
  if (known.size === 0) cached.set(entry, known)
  if (known.size < MAX_CACHED) known.set(where, target)
  return target
}

/** A wildcard domain has any number of hosts. */
const MAX_CACHED = 256

/** The target of a request that no connector owns but the gateway lets out: as it was asked. */
export function plainTarget(request: CanonicalRequest, allowPrivateAddresses: boolean): UpstreamTarget {
  const isTls = request.scheme === 'https'
  return {
    key: `-|${request.scheme}|${request.host}|${request.port}|${allowPrivateAddresses}`,
    isTls,
    host: request.host,
    port: request.port,
    servername: sniFor(request.host),
    identities: [request.host],
    hostHeader: hostHeader(request.host, request.port, isTls ? HTTPS_PORT : HTTP_PORT),
    pathPrefix: '',
    allowPrivateAddresses,
    caBundle: null,
  }
}

/** A connector's target: TLS always, unless its own URL says `http` and private addresses are allowed. */
function connectorTarget(entry: ConnectorEntry, request: CanonicalRequest): UpstreamTarget {
  const { url, caBundle = null, allowPrivateAddresses } = entry.upstream
  const asked = requestedPort(request)
  const common = {
    key: [entry.id, request.host, asked, allowPrivateAddresses, url ?? '', caBundle ?? ''].join('|'),
    hostHeader: hostHeader(request.host, asked, HTTPS_PORT),
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
 * Dials the host of the URL. Its certificate may also be for the original host, for example when the URL has an IP
 * address.
 */
function reroutedTo(base: URL, request: CanonicalRequest, allowPrivate: boolean) {
  const isTls = !leavesInClear({ url: base.href, allowPrivateAddresses: allowPrivate })
  const host = base.hostname.replace(/^\[|\]$/g, '')
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

/** Plain HTTP to a connector's host leaves as TLS on the port that the host has for it. */
function requestedPort(request: CanonicalRequest): number {
  return request.scheme === 'http' && request.port === HTTP_PORT ? HTTPS_PORT : request.port
}

function hostHeader(host: string, port: number, standard: number): string {
  const name = isIP(host) === 6 ? `[${host}]` : host
  return port === standard ? name : `${name}:${port}`
}
