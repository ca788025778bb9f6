/**
 * The DER name of a certificate's subject, byte for byte as it stands there: an issuer that is spelled otherwise
 * does not chain. Certificate > TBSCertificate > [0] version, serial, algorithm, issuer, validity, subject.
 */
export function certificateSubject(certificate: Uint8Array): Uint8Array {
  let at = contentStart(certificate, contentStart(certificate, 0))
  for (let skipped = 0; skipped < 5; skipped++) at = elementEnd(certificate, at)
  return certificate.subarray(at, elementEnd(certificate, at))
}

function contentStart(der: Uint8Array, at: number): number {
  const first = der[at + 1] ?? 0
  return at + 2 + (first < 0x80 ? 0 : first & 0x7f)
}

function elementEnd(der: Uint8Array, at: number): number {
  const first = der[at + 1] ?? 0
  const start = contentStart(der, at)
  if (first < 0x80) return start + first
  return start + der.subarray(at + 2, start).reduce((length, byte) => length * 256 + byte, 0)
}
