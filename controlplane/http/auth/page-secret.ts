import type { FastifyRequest } from 'fastify'
import { HEADERS } from '../../../core/wire/schema/limits.ts'

/**
 * Returns the page secret of the request; undefined when the header is absent. The page secret shows that a
 * page of the dashboard sent the request, because other pages have only the session cookie.
 */
export function pageSecretOf(request: FastifyRequest): string | undefined {
  const value = request.headers[HEADERS.pageSecret.toLowerCase()]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * Returns whether a browser page sent the request. Browsers send `Sec-Fetch-Site`, except over plain HTTP to
 * hosts other than loopback. The dashboard sends the page secret in a header to such hosts.
 */
export function isPage(request: FastifyRequest): boolean {
  return (
    request.headers['sec-fetch-site'] !== undefined ||
    request.headers[HEADERS.pageSecret.toLowerCase()] !== undefined
  )
}
