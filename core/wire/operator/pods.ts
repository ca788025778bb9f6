import * as z from 'zod'

/** Reference to a pod of the cluster. */
export const PodRef = z.object({
  podUid: z.string().min(1).max(128),
  namespace: z.string().min(1).max(253),
  name: z.string().min(1).max(253),
})

/** Object that owns a pod, in the namespace of the pod. */
const PodOwner = z.object({ name: z.string().min(1).max(253), uid: z.string().min(1).max(128) })

const QUALIFIED_NAME = /^[^/\s]{1,253}\/[^/\s]{1,253}$/

const KnownPod = PodRef.extend({
  /** Agent of the pod, as `namespace/name`. */
  agent: z.string().regex(QUALIFIED_NAME, 'must be namespace/name'),
  /** Gateway of the pod, as `namespace/name`. */
  gateway: z.string().regex(QUALIFIED_NAME, 'must be namespace/name'),
  /** Workload that a user created for the pod, as `KIND NAME`, such as `Deployment web`; null if unknown. */
  workload: z.string().max(400).nullable().default(null),
  /** Sandbox of agent-sandbox that owns the pod. Absent for other pods. */
  sandbox: PodOwner.nullish(),
  /** SandboxClaim that adopted the Sandbox. Absent until a claim adopts it. */
  claim: PodOwner.nullish(),
})
/**
 * Injected pod according to its metadata. The first report of a UID fixes the agent and the Gateway of the pod. The
 * first report with a claim fixes the claim. `deleted` means that the object does not exist any more, which is final
 * for the UID; a `deletionTimestamp` is not sufficient.
 */
export const PodIdentityReport = KnownPod.extend({ deleted: z.boolean() })
export const PodsBody = z.object({ pods: z.array(PodIdentityReport).max(1_000) })
export const PodsReply = z.object({ ok: z.literal(true) })
export const KnownPods = z.object({ pods: z.array(KnownPod) })

export type PodRef = z.infer<typeof PodRef>
export type KnownPod = z.infer<typeof KnownPod>
export type PodIdentityReport = z.infer<typeof PodIdentityReport>
