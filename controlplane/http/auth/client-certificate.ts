import { TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import { HEADERS } from '../../../core/wire/schema/limits.ts'

/**
 * User of a client certificate. As in Kubernetes, the username is the common name and the groups are the organizations.
 */
export type CertificateSubject = { readonly username: string; readonly groups: readonly string[] }

/**
 * Returns the subject of the verified client certificate of a connection. Returns undefined without a certificate, or
 * without the header that selects certificate authentication. The header prevents cross-site requests: a browser
 * presents its certificate with the requests of any page, but it sends a custom header only after a CORS preflight,
 * which the control plane does not permit. The expiry is checked at each request, because a connection may outlast
 * its certificate.
 */
export function certificateSubject(
  request: FastifyRequest,
  nowMs = Date.now(),
): CertificateSubject | undefined {
  const { socket } = request.raw
  const isRequested = request.headers[HEADERS.caller.toLowerCase()] === 'certificate'
  if (!isRequested || !(socket instanceof TLSSocket) || !socket.authorized) return undefined
  const { subject, valid_to: validTo } = socket.getPeerCertificate()
  if (!(Date.parse(validTo) > nowMs)) return undefined
  // The value is an array when a subject has several common names. Such a subject is ambiguous and is rejected.
  const username: unknown = subject?.CN
  if (typeof username !== 'string' || username === '') return undefined
  const groups: unknown = subject.O ?? []
  return { username, groups: [groups].flat().filter((name): name is string => typeof name === 'string') }
}
