import * as z from 'zod'

/** One latched source of a kill switch. The effective state is the union of all. */
export const KillEntry = z.object({
  /** `all`, `connector:X`, `agent:X`, `gateway:X`, `namespace:X` or bare `X`. */
  scope: z.string(),
  /** `api`, `dashboard`, `cli`, `gateway:<name>`, `manifest:<ns/name>`, `configmap`, `configmap:<ns>`, … */
  source: z.string(),
  reason: z.string(),
  since: z.string(),
})

/**
 * Position of a state in the total order over all replicas: later epochs first, then later revisions. Both come from
 * the database.
 */
export const StateOrder = z.object({ epoch: z.number().int(), revision: z.number().int() })

/**
 * A kill switch that is in force and may not be stored yet. `proof`: hex HMAC with a key of the control plane's
 * replicas.
 */
export const KillAnnouncement = z.object({
  id: z.string().min(1).max(64),
  entry: KillEntry,
  proof: z.string().max(128),
})

/** The complete kill state, so that an older one deactivates nothing. Absent from older control planes. */
export const KillStateMessage = z.object({
  /** Order of `stored`. */
  order: StateOrder,
  stored: z.array(KillEntry),
  /** Broadcast before they are stored: in force until their ids are in `settled`. */
  announced: z.array(KillAnnouncement),
  /** Announcements that have been stored or deactivated: `stored` is authoritative. */
  settled: z.array(z.string()),
})

export type KillEntry = z.infer<typeof KillEntry>
export type StateOrder = z.infer<typeof StateOrder>
export type KillAnnouncement = z.infer<typeof KillAnnouncement>
export type KillStateMessage = z.infer<typeof KillStateMessage>
