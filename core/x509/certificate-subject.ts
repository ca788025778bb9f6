import { childrenOf, elementAt } from './der-reader.ts'

/**
 * Returns the subject of a certificate as DER Name, byte for byte, because clients reject a chain whose issuer name
 * has another encoding. The subject follows version, serial, algorithm, issuer and validity in the TBSCertificate (RFC
 * 5280, 4.1). Throws RangeError for bytes without a subject.
 */
export function certificateSubject(certificate: Uint8Array): Uint8Array {
  const whole = elementAt(certificate, 0)
  const body = whole && elementAt(certificate, whole.start)
  const [, , , , validity, subject] = body ? childrenOf(certificate, body) : []
  if (!validity || !subject) throw new RangeError('the certificate has no subject')
  return certificate.subarray(validity.end, subject.end)
}
