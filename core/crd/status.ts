import * as z from 'zod'
import { MAX_MESSAGE } from './conditions.ts'

/**
 * Condition in a status. `type` and `reason` accept any text with the lengths of `metav1.Condition`, because an
 * operator that is newer than its CRDs must be able to write its status. `CONDITIONS` lists the values of this version.
 */
const ConditionSchema = z.object({
  type: z.string().min(1).max(316),
  status: z.enum(['True', 'False', 'Unknown']),
  observedGeneration: z.int().min(0).optional(),
  /** Time of the last change of `status`, as RFC 3339. */
  lastTransitionTime: z.string().max(64),
  reason: z.string().min(1).max(1_024),
  message: z.string().max(MAX_MESSAGE),
})

const base = {
  /** Value of `metadata.generation` that this status describes. */
  observedGeneration: z.int().min(0).optional(),
  conditions: z.array(ConditionSchema).max(32).optional(),
}

/**
 * Status that the operator writes for users and `kubectl wait`. The operator never uses the status as input. No field
 * is required, because a newer operator may omit any field.
 */
export const GatewayStatus = z.object({
  ...base,
  gateways: z
    .object({
      /** Number of connected gateway processes. */
      connected: z.int().min(0).optional(),
      /** Number of connected gateway processes that have applied the published configuration. */
      current: z.int().min(0).optional(),
      /** Number of connected processes that acknowledged the kill state. Present while a kill switch is active. */
      killed: z.int().min(0).optional(),
    })
    .optional(),
  pods: z
    .object({
      /** Number of pods with a sidecar of this Gateway. */
      governed: z.int().min(0).optional(),
      /** Number of governed pods whose sidecar is ready. */
      ready: z.int().min(0).optional(),
    })
    .optional(),
  /**
   * Weakest way in which traffic of the pods reaches their sidecars. `Cooperative`: proxy variables.
   * `IsolatedByNetworkPolicy`: proxy variables, and a NetworkPolicy isolates the pods. `Captured`: redirected
   * connections, as a ready sidecar has proved. `Unproven`: redirected connections, but no sidecar is ready yet.
   */
  layer: z.string().max(64).optional(),
})
export const ConnectorStatus = z.object({
  ...base,
  /** Hosts that the Connector owns, including the default hosts of its type. */
  domains: z.string().max(4_096).optional(),
})
export const PermissionStatus = z.object({ ...base, rules: z.int().min(0).optional() })
export const PolicyStatus = z.object({
  ...base,
  /** Number of tests of the policy, and number of those that passed. */
  tests: z.object({ passed: z.int().min(0).optional(), total: z.int().min(0).optional() }).optional(),
})

export type GatewayStatus = z.infer<typeof GatewayStatus>
export type ConnectorStatus = z.infer<typeof ConnectorStatus>
export type PermissionStatus = z.infer<typeof PermissionStatus>
export type PolicyStatus = z.infer<typeof PolicyStatus>
