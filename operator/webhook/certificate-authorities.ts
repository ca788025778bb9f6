import { X509Certificate } from 'node:crypto'
import { CA_LIFETIME_MS, type CertificateAuthority } from './leaf.ts'

/**
 * Time in milliseconds between the creation of a CA in a rotation and its first use. After this time, every API server
 * uses the new bundle, and every replica has read the Secret twice.
 */
const PROPAGATION_MS = 10 * 60_000

/** The current certificate authority (CA), and during a rotation the previous one until it expires. */
export type CertificateAuthorities = {
  readonly current: CertificateAuthority
  readonly previous?: CertificateAuthority
}

export type CertificateAuthorityPlan = {
  readonly cas: CertificateAuthorities
  /** True when the certificate authorities must be stored in the Secret before they are used. */
  readonly isChanged: boolean
  /** The CA that signs leaf certificates. A new CA signs only after all API servers trust it. */
  readonly signing: CertificateAuthority
  /** PEM of all CAs to trust. */
  readonly bundlePem: string
}

/** Plans the rotation of the certificate authorities. `make` creates a new CA. */
export function planCertificateAuthorities(
  stored: CertificateAuthorities | null,
  nowMs: number,
  make: () => CertificateAuthority,
): CertificateAuthorityPlan {
  const cas = next(stored, nowMs, make)
  const { current, previous } = cas
  const isPropagated = nowMs - madeAtMs(current) >= PROPAGATION_MS
  return {
    cas,
    isChanged: stored === null || stored.current !== current || stored.previous !== previous,
    signing: previous === undefined || isPropagated ? current : previous,
    bundlePem: [current, previous].map((ca) => ca?.certPem ?? '').join(''),
  }
}

function next(
  stored: CertificateAuthorities | null,
  nowMs: number,
  make: () => CertificateAuthority,
): CertificateAuthorities {
  if (stored === null || endsAtMs(stored.current) <= nowMs) return { current: make() }
  const { current, previous } = stored
  // The rotation begins at two thirds of the lifetime, so that one third is left to repair a failing rotation.
  const isDue = endsAtMs(current) - nowMs <= CA_LIFETIME_MS / 3
  if (isDue) return { current: make(), previous: current }
  return previous === undefined || endsAtMs(previous) > nowMs ? stored : { current }
}

function endsAtMs({ certPem }: CertificateAuthority): number {
  return Date.parse(new X509Certificate(certPem).validTo)
}

function madeAtMs(ca: CertificateAuthority): number {
  return endsAtMs(ca) - CA_LIFETIME_MS
}
