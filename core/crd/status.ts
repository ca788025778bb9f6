import * as z from 'zod'
import { CONDITIONS, type ConditionReason, type ConditionType, MAX_MESSAGE } from './conditions.ts'

const types = Object.keys(CONDITIONS) as [ConditionType, ...ConditionType[]]
/** Reasons of all condition types. `CONDITIONS` defines which reasons a type has. */
const reasons = [...new Set(Object.values(CONDITIONS).flatMap((each) => Object.keys(each)))] as [
  ConditionReason,
  ...ConditionReason[],
]

const ConditionSchema = z.object({
  type: z.enum(types),
  status: z.enum(['True', 'False', 'Unknown']),
  observedGeneration: z.int().min(0).optional(),
  lastTransitionTime: z.iso.datetime().max(40),
  reason: z.enum(reasons),
  message: z.string().max(MAX_MESSAGE),
})

const base = {
  /** The `metadata.generation` that this status describes. */
  observedGeneration: z.int().min(0).optional(),
  conditions: z.array(ConditionSchema).max(16).optional(),
  /** `n of m`: n of m gateway processes acknowledged a state that contains this object. */
  programmed: z.string().max(64).optional(),
}

/** Status that the operator writes, for users and `kubectl wait`. It is never read as input. */
export const GatewayStatus = z.object({
  ...base,
  /** `injected/ready`: number of governed pods, and how many of them are ready. */
  pods: z.string().max(64).optional(),
  injectedPods: z.int().min(0).optional(),
  readyPods: z.int().min(0).optional(),
  /** Number of connected gateway processes. */
  processes: z.int().min(0).optional(),
  /** `n of m`: n of m gateway processes deny requests. Present while a kill switch covers this Gateway. */
  killed: z.string().max(64).optional(),
  /** How traffic of the pods is enforced: `Cooperative` or `Captured`. */
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
  /** `n of m`: n of m tests of the policy passed. */
  tests: z.string().max(64).optional(),
})

export type GatewayStatus = z.infer<typeof GatewayStatus>
export type ConnectorStatus = z.infer<typeof ConnectorStatus>
export type PermissionStatus = z.infer<typeof PermissionStatus>
export type PolicyStatus = z.infer<typeof PolicyStatus>
