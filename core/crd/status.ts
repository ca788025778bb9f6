import * as z from 'zod'
import { CONDITIONS, type ConditionReason, type ConditionType, MAX_MESSAGE } from './conditions.ts'

const types = Object.keys(CONDITIONS) as [ConditionType, ...ConditionType[]]
/** Of all types together; which of them a type can have is said in `CONDITIONS`. */
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
  /** The newest generation that was looked at. */
  observedGeneration: z.int().min(0).optional(),
  conditions: z.array(ConditionSchema).max(16).optional(),
  /** `n of m`: gateway processes that acknowledged a state with this object in it. */
  programmed: z.string().max(64).optional(),
}

/** What the operator writes back; everything is for people and for `kubectl wait`, nothing is read as input. */
export const GatewayStatus = z.object({
  ...base,
  /** Governed pods: `injected/ready`. */
  pods: z.string().max(64).optional(),
  injectedPods: z.int().min(0).optional(),
  readyPods: z.int().min(0).optional(),
  /** Connected gateway processes. */
  processes: z.int().min(0).optional(),
  /** `n of m` processes stopped, while a stop covers this Gateway. */
  killed: z.string().max(64).optional(),
  /** What holds traffic in the pods: `Cooperative` or `Captured`. */
  layer: z.string().max(64).optional(),
})
export const ConnectorStatus = z.object({
  ...base,
  /** The hosts that it governs, those of its type included. */
  domains: z.string().max(4_096).optional(),
})
export const PermissionStatus = z.object({ ...base, rules: z.int().min(0).optional() })
export const PolicyStatus = z.object({
  ...base,
  /** `n of m` tests passed. */
  tests: z.string().max(64).optional(),
})

export type GatewayStatus = z.infer<typeof GatewayStatus>
export type ConnectorStatus = z.infer<typeof ConnectorStatus>
export type PermissionStatus = z.infer<typeof PermissionStatus>
export type PolicyStatus = z.infer<typeof PolicyStatus>
