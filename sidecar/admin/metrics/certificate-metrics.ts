import type { Exposition } from './exposition.ts'

/** Validity of a certificate in epoch milliseconds, and the present time. */
export type CertificateValidity = {
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly nowMs: number
}

export function writeCertificate(out: Exposition, validity: CertificateValidity | null): void {
  out.family('svc_certificate_age_seconds', 'gauge', 'Age of the certificate, by certificate.')
  if (validity !== null)
    out.sample('svc_certificate_age_seconds', LABELS, (validity.nowMs - validity.notBeforeMs) / 1_000)
  out.family(
    'svc_certificate_remaining_seconds',
    'gauge',
    'Seconds until the certificate expires, by certificate; negative after its expiry.',
  )
  if (validity !== null)
    out.sample('svc_certificate_remaining_seconds', LABELS, (validity.notAfterMs - validity.nowMs) / 1_000)
}

const LABELS = 'certificate="sidecar"'
