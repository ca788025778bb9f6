import * as z from 'zod'

/** A refused host that no connector owns at its gateway. */
export const UnownedHost = z.object({
  host: z.string(),
  port: z.int(),
  gateway: z.string(),
  agents: z.array(z.string()),
  requests: z.number(),
  /** ISO 8601. */
  first: z.string(),
  last: z.string(),
  /** The use that an agent program makes of the host; null for hosts that are not known. */
  known: z.string().nullable(),
  /** Either lets agents reach the host. `connector` is null where only the egress list of the Gateway can. */
  manifests: z.object({ connector: z.string().nullable(), egress: z.string() }),
})
export type UnownedHost = z.infer<typeof UnownedHost>

export const UnownedHostsReply = z.object({ hosts: z.array(UnownedHost) })
export type UnownedHostsReply = z.infer<typeof UnownedHostsReply>
