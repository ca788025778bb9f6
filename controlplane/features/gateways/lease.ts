import type { GatewaySpec } from '../../../core/crd/schemas.ts'
import { LIMITS } from '../../../core/wire/limits.ts'

/** Milliseconds for which a gateway lets anything pass without its control plane. */
export function leaseMsOf(spec: Pick<GatewaySpec, 'failurePolicy'> | undefined): number {
  return (spec?.failurePolicy.everythingAfterSeconds ?? LIMITS.leaseEverythingMs / 1_000) * 1_000
}
