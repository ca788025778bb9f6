import type { FastifyRequest } from 'fastify'
import { ChaperoneError } from '../../core/errors.ts'
import { isLoopback } from '../../core/loopback.ts'

/**
 * A write that a browser sends with the session cookie must come from a page of this origin. A client that sends none
 * of the three headers is no browser and is let through.
 */
export function refuseForeignOrigin(request: FastifyRequest, publicUrl: string | null): void {
  if (request.method === 'GET' || request.method === 'HEAD') return
  if (isFromOwnPage(request, publicUrl)) return
  throw new ChaperoneError('forbidden', {
    detail:
      'This write came from a page of another site: open the dashboard at its own address, or set PUBLIC_URL to the address that people use',
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
 * On loopback the Host must be a loopback name: a web page that points its own name at 127.0.0.1 (DNS rebinding) would
 * otherwise be "same origin" with this server.
 */
export function refuseForeignHost(
  request: FastifyRequest,
  listen: { readonly host: string; readonly publicUrl: string | null },
): void {
  if (!isLoopback(listen.host)) return
  const authority = request.headers.host ?? ''
  const name = authority.replace(/:\d+$/, '')
  if (isLoopback(name)) return
  if (listen.publicUrl !== null && authority === new URL(listen.publicUrl).host) return
  throw new ChaperoneError('misdirected', {
    detail: `This control plane listens on loopback and answers to localhost only: open http://127.0.0.1, or set PUBLIC_URL to the address that people use`,
  })
}
