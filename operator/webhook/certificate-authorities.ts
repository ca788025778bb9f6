import { X509Certificate } from 'node:crypto'
import { AUTHORITY_LIFETIME_MS, type Authority } from './leaf.ts'

/** Every API server has taken over a bundle by then, and every replica has read the Secret twice. */
const SETTLED_MS = 10 * 60_000

/** The one in force, and the one before it while its leaves are still around. */
export type Authorities = { readonly current: Authority; readonly previous?: Authority }

export type AuthorityPlan = {
  readonly authorities: Authorities
  /** Another state than the stored one: write it before anything uses it. */
  readonly isChanged: boolean
  /** The one that leaves are signed with: a new one only once everybody trusts it. */
  readonly signing: Authority
  /** PEM of every authority that is to be trusted. */
  readonly bundlePem: string
}

/** What is to be done about the authorities now; `make` answers a new one. */
export function planAuthorities(
  stored: Authorities | null,
  nowMs: number,
  make: () => Authority,
): AuthorityPlan {
  const authorities = next(stored, nowMs, make)
  const { current, previous } = authorities
  const isSettled = nowMs - madeAtMs(current) >= SETTLED_MS
  return {
    authorities,
    isChanged: stored === null || stored.current !== current || stored.previous !== previous,
    signing: previous === undefined || isSettled ? current : previous,
    bundlePem: [current, previous].map((authority) => authority?.certPem ?? '').join(''),
  }
}

function next(stored: Authorities | null, nowMs: number, make: () => Authority): Authorities {
  if (stored === null || endsAtMs(stored.current) <= nowMs) return { current: make() }
  const { current, previous } = stored
  // Renewed at two thirds, so that a third is left to notice that it does not work.
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
