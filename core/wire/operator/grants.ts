import * as z from 'zod'

const Texts = z.record(z.string().max(317), z.string().max(1_000))

/**
 * Permission object that shows a grant in a cluster. The operator writes the object unchanged, because the control
 * plane later compares the object in the cluster with the one that it sent. The operator and the control plane may have
 * different versions.
 */
export const GrantObject = z.object({
  namespace: z.string().min(1).max(253),
  /** Name of the object: `grant-`, then lower-case letters and digits. */
  name: z.string().regex(/^grant-[0-9a-z]{1,64}$/),
  labels: Texts,
  annotations: Texts,
  spec: z.record(z.string(), z.unknown()),
  /** True if the operator has pushed the object. If the cluster then lacks the object, a user deleted it. */
  is_stored: z.boolean(),
})

/** Grants in force whose Gateways are objects of the cluster. */
export const GrantObjects = z.object({ grants: z.array(GrantObject).max(10_000) })

export type GrantObject = z.infer<typeof GrantObject>
export type GrantObjects = z.infer<typeof GrantObjects>
