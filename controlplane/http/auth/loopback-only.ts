import type { FastifyRequest } from 'fastify'
import { isLoopback } from '../../../core/loopback.ts'

/** How a control plane is reached. */
export type Reached = {
  readonly host: string
  readonly publicUrl: string | null
  readonly trustedProxies: readonly string[]
}

/** Reports whether only this machine reaches the control plane, as far as its settings say. */
export function isLoopbackOnly({ host, publicUrl, trustedProxies }: Reached): boolean {
  const isPublic = publicUrl !== null && !isLoopback(new URL(publicUrl).hostname)
  return isLoopback(host) && !isPublic && trustedProxies.length === 0
}

/** Fields that proxies add, of nginx, Envoy, Apache, HAProxy, IIS, Caddy, Traefik and of clouds. */
const ADDED_BY_PROXIES =
  /^(forwarded|via|x-forwarded-.*|x-original-.*|x-envoy-.*|x-arr-.*|x-real-ip|x-(cluster-)?client-ip|true-client-ip|fastly-client-ip|cf-.*)$/

type Received = Pick<FastifyRequest, 'headers'> & { readonly raw: { readonly httpVersion: string } }

/**
 * Reports whether the request shows that it does not come from this machine: a proxy has forwarded it, or a page of
 * another address has sent it. HTTP/1.0 is what nginx speaks to its upstreams by default, with no header field of its own
 * and `Host` replaced; browsers and HTTP libraries do not. A proxy that speaks HTTP/1.1, adds no header field and replaces
 * `Host` is not recognised.
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
