import type { GatewaySpec } from '../../../core/crd/gateway-spec.ts'
import { LIMITS } from '../../../core/wire/limits.ts'

/** Returns the lease: milliseconds for which a gateway admits requests without its control plane. */
export function leaseMsOf(spec: Pick<GatewaySpec, 'failurePolicy'> | undefined): number {
  return (spec?.failurePolicy.everythingAfterSeconds ?? LIMITS.leaseEverythingMs / 1_000) * 1_000
}
