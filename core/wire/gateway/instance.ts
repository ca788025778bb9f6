import * as z from 'zod'

/** Name of a namespaced object, as `namespace/name`. */
const FullName = z.string().min(1).max(600)

/**
 * Instance of an agent that runs in pods: the pod of a request, the Sandbox that owns the pod, and the SandboxClaim
 * that adopted the Sandbox. A Sandbox of a warm pool has no claim until a claim adopts it.
 */
export const Instance = z.object({
  pod: FullName,
  pod_uid: z.string().max(128),
  /** Sandbox that owns the pod; absent if no Sandbox does. */
  sandbox: FullName.optional(),
  /** SandboxClaim that adopted the Sandbox; absent if no claim did. */
  claim: FullName.optional(),
  claim_uid: z.string().max(128).optional(),
})

export type Instance = z.infer<typeof Instance>

/** Instance on an approval card; absent for a request from outside of a pod. */
export type InstanceFact = { readonly instance?: Instance }

/** Returns kind and name of the object that identifies the instance: its claim, else its Sandbox, else its pod. */
export function instanceText({ pod, sandbox, claim }: Instance): string {
  if (claim !== undefined) return `SandboxClaim ${claim}`
  return sandbox === undefined ? `Pod ${pod}` : `Sandbox ${sandbox}`
}
