import { TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import { HEADERS } from '../../../core/wire/limits.ts'

/**
 * The user of a client certificate: username from the common name and groups from the organizations, as in Kubernetes.
 */
export type CertificateSubject = { readonly username: string; readonly groups: readonly string[] }

/**
 * Returns the subject of the verified client certificate of a connection. Undefined without a certificate, and without
 * the header that selects it: a browser presents its certificate for requests of any page, but sends a custom header
 * only after a CORS preflight, which the control plane does not answer. The expiry is checked for each request, because
 * a connection may outlive its certificate.
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
  // Several common names are an array, and are rejected as ambiguous.
  const username: unknown = subject?.CN
  if (typeof username !== 'string' || username === '') return undefined
  const groups: unknown = subject.O ?? []
  return { username, groups: [groups].flat().filter((name): name is string => typeof name === 'string') }
}
