import { TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import { HEADERS } from '../../../core/wire/limits.ts'

/** The user of a client certificate: common name and organizations, as the API server of the cluster reads them. */
export type CertificateSubject = { readonly username: string; readonly groups: readonly string[] }

/**
 * Returns the subject of the verified client certificate of a connection. Undefined without one, and without the header that
 * requests it: a browser presents its certificate to requests of any page, but sends such a header only after a preflight,
 * which the control plane never answers. A connection may outlive its certificate, so the end of validity is compared with
 * each request.
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
  // Two common names are an array: which of them counts depends on the reader.
  const username: unknown = subject?.CN
  if (typeof username !== 'string' || username === '') return undefined
  const groups: unknown = subject.O ?? []
  return { username, groups: [groups].flat().filter((name): name is string => typeof name === 'string') }
}
