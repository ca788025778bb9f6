import type { FastifyRequest } from 'fastify'
import { HEADERS } from '../../../core/wire/schema/limits.ts'

/** Returns the page secret of the dashboard page that sent the request; undefined when the header is absent. */
export function pageSecretOf(request: FastifyRequest): string | undefined {
  const value = request.headers[HEADERS.pageSecret.toLowerCase()]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * Returns whether a browser page sent the request. Browsers send `Sec-Fetch-Site`, except over plain HTTP to hosts
 * other than loopback. To such hosts the dashboard sends the header of the page secret instead.
 */
export function isPage(request: FastifyRequest): boolean {
  return (
    request.headers['sec-fetch-site'] !== undefined ||
    request.headers[HEADERS.pageSecret.toLowerCase()] !== undefined
  )
}
