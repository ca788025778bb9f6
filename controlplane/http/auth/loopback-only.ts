import type { FastifyRequest } from 'fastify'
import { isLoopback } from '../../../core/loopback.ts'

/** Settings that determine from which machines a control plane is reachable. */
export type ListenSettings = {
  readonly host: string
  readonly publicUrl: string | null
  readonly trustedProxies: readonly string[]
}

/** Returns whether the settings make the control plane reachable from this machine only. */
export function isLoopbackOnly({ host, publicUrl, trustedProxies }: ListenSettings): boolean {
  const isPublic = publicUrl !== null && !isLoopback(new URL(publicUrl).hostname)
  return isLoopback(host) && !isPublic && trustedProxies.length === 0
}

/**
 * Matches the names of header fields that nginx, Envoy, Apache, HAProxy, IIS, Caddy, Traefik and cloud load balancers
 * add to a forwarded request.
 */
const ADDED_BY_PROXIES =
  /^(forwarded|via|x-forwarded-.*|x-original-.*|x-envoy-.*|x-arr-.*|x-real-ip|x-(cluster-)?client-ip|true-client-ip|fastly-client-ip|cf-.*)$/

type Received = Pick<FastifyRequest, 'headers'> & { readonly raw: { readonly httpVersion: string } }

/**
 * Returns whether a proxy forwarded the request, or a page of another origin sent it. A request of HTTP/1.0 counts as
 * forwarded: by default, nginx forwards with this version, adds no header fields and replaces `Host`, while browsers
 * and HTTP libraries do not use HTTP/1.0. A proxy that uses HTTP/1.1, adds no header fields and replaces `Host` is
 * not detected.
 */
export function isForwarded({ headers, raw }: Received): boolean {
  if (raw.httpVersion === '1.0') return true
  if (Object.keys(headers).some((name) => ADDED_BY_PROXIES.test(name))) return true
  const { origin, referer, 'sec-fetch-site': site } = headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  return [origin, referer].some((text) => text !== undefined && !isFromLoopback(text))
}

function isFromLoopback(text: string): boolean {
  return URL.canParse(text) && isLoopback(new URL(text).hostname)
}
