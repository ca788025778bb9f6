import * as z from 'zod'

const Texts = z.record(z.string().max(317), z.string().max(1_000))

/**
 * Permission that shows a grant in a cluster. The operator writes it as given, so that a control plane of another version
 * determines the fields with which it compares the pushed object.
 */
export const GrantObject = z.object({
  namespace: z.string().min(1).max(253),
  /** `grant-` and letters and digits. */
  name: z.string().regex(/^grant-[0-9a-z]{1,64}$/),
  labels: Texts,
  annotations: Texts,
  spec: z.record(z.string(), z.unknown()),
  /** True if the operator has pushed the object. An object that the cluster lacks after that was deleted. */
  is_stored: z.boolean(),
})

/** Grants in force whose Gateways are objects of the cluster. */
export const GrantObjects = z.object({ grants: z.array(GrantObject).max(10_000) })

export type GrantObject = z.infer<typeof GrantObject>
export type GrantObjects = z.infer<typeof GrantObjects>
