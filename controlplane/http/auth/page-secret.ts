import type { FastifyRequest } from 'fastify'
import { HEADERS } from '../../../core/wire/limits.ts'

/** Returns the page secret of the dashboard page that sent the request; undefined without one. */
export function pageSecretOf(request: FastifyRequest): string | undefined {
  const value = request.headers[HEADERS.pageSecret.toLowerCase()]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * Reports whether a page signs in. Browsers send `Sec-Fetch-Site`, except over plain HTTP to non-loopback hosts, where
 * the dashboard sends the header of the page secret instead.
 */
export function isPage(request: FastifyRequest): boolean {
  return (
    request.headers['sec-fetch-site'] !== undefined ||
    request.headers[HEADERS.pageSecret.toLowerCase()] !== undefined
  )
}
