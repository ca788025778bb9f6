import { X509Certificate } from 'node:crypto'
import { AUTHORITY_LIFETIME_MS, type Authority } from './leaf.ts'

/** By then every API server uses the new bundle, and every replica has read the Secret twice. */
const PROPAGATION_MS = 10 * 60_000

/** The current certificate authority (CA), and the previous one while its leaf certificates are valid. */
export type Authorities = { readonly current: Authority; readonly previous?: Authority }

export type AuthorityPlan = {
  readonly authorities: Authorities
  /** True: the state must be written before it is used. */
  readonly isChanged: boolean
  /** The CA that signs leaf certificates. A new CA signs only after all API servers trust it. */
  readonly signing: Authority
  /** PEM of all CAs to trust. */
  readonly bundlePem: string
}

/** Plans the rotation of the certificate authorities. `make` creates a new one. */
export function planAuthorities(
  stored: Authorities | null,
  nowMs: number,
  make: () => Authority,
): AuthorityPlan {
  const authorities = next(stored, nowMs, make)
  const { current, previous } = authorities
  const isPropagated = nowMs - madeAtMs(current) >= PROPAGATION_MS
  return {
    authorities,
    isChanged: stored === null || stored.current !== current || stored.previous !== previous,
    signing: previous === undefined || isPropagated ? current : previous,
    bundlePem: [current, previous].map((authority) => authority?.certPem ?? '').join(''),
  }
}

function next(stored: Authorities | null, nowMs: number, make: () => Authority): Authorities {
  if (stored === null || endsAtMs(stored.current) <= nowMs) return { current: make() }
  const { current, previous } = stored
  // Rotated at two thirds of the lifetime, so that one third is left to repair a failing rotation.
  const isDue = endsAtMs(current) - nowMs <= AUTHORITY_LIFETIME_MS / 3
  if (isDue) return { current: make(), previous: current }
  return previous === undefined || endsAtMs(previous) > nowMs ? stored : { current }
}

function endsAtMs({ certPem }: Authority): number {
  return Date.parse(new X509Certificate(certPem).validTo)
}

function madeAtMs(authority: Authority): number {
  return endsAtMs(authority) - AUTHORITY_LIFETIME_MS
}
