import type { FastifyRequest } from 'fastify'
import { ChaperoneError } from '../../core/errors.ts'
import { isLoopback } from '../../core/loopback.ts'
import { splitAuthority } from '../../core/request/authority-text.ts'

/**
 * Throws `forbidden` for a write with the session cookie that a browser sent from a page of another origin. A client
 * that sends none of the headers Origin, Sec-Fetch-Site and Referer is not a browser and is accepted.
 */
export function refuseForeignOrigin(request: FastifyRequest, publicUrl: string | null): void {
  if (request.method === 'GET' || request.method === 'HEAD') return
  if (isFromOwnPage(request, publicUrl)) return
  throw new ChaperoneError('forbidden', {
    detail:
      'The request was sent by a page of another origin. Open the dashboard at its own address, or set PUBLIC_URL to the address that users open.',
  })
}

function isFromOwnPage(request: FastifyRequest, publicUrl: string | null): boolean {
  const { origin, referer, 'sec-fetch-site': site } = request.headers
  if (origin !== undefined) return isOwnOrigin(origin, request, publicUrl)
  if (site !== undefined) return site === 'same-origin'
  return referer === undefined || isOwnOrigin(referer, request, publicUrl)
}

function isOwnOrigin(text: string, request: FastifyRequest, publicUrl: string | null): boolean {
  if (!URL.canParse(text)) return false
  const { origin, host } = new URL(text)
  return host === request.headers.host || (publicUrl !== null && origin === new URL(publicUrl).origin)
}

/**
 * Throws `misdirected` when the server listens on loopback and the header `Host` is not a loopback name. Otherwise a
 * page whose name resolves to 127.0.0.1 (DNS rebinding) would have the same origin as this server.
 */
export function refuseForeignHost(
  request: FastifyRequest,
  listen: { readonly host: string; readonly publicUrl: string | null },
): void {
  if (!isLoopback(listen.host)) return
  const authority = request.headers.host ?? ''
  if (isLoopback(splitAuthority(authority).host)) return
  if (listen.publicUrl !== null && authority === new URL(listen.publicUrl).host) return
  throw new ChaperoneError('misdirected', {
    detail: `The control plane listens on loopback and only accepts requests to localhost. Open http://127.0.0.1, or set PUBLIC_URL to the address that users open.`,
  })
}
