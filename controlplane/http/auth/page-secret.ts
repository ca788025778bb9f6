import type { FastifyRequest } from 'fastify'
import { HEADERS } from '../../../core/wire/limits.ts'

/** The secret of the dashboard page that sends the request; undefined without one. */
export function pageSecretOf(request: FastifyRequest): string | undefined {
  const value = request.headers[HEADERS.pageSecret.toLowerCase()]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * True for a sign-in of a page: browsers send `Sec-Fetch-Site`, but not over plain HTTP to another host. There the
 * dashboard asks by sending the header of the secret.
 */
export function isPage(request: FastifyRequest): boolean {
  return (
    request.headers['sec-fetch-site'] !== undefined ||
    request.headers[HEADERS.pageSecret.toLowerCase()] !== undefined
  )
}
