import * as z from 'zod'

/**
 * One source of a kill switch that is active until the same source deactivates it. The effective state is the union of
 * all entries.
 */
export const KillEntry = z.object({
  /** What the entry covers: `all`, `connector:X`, `agent:X`, `gateway:X`, `namespace:X` or bare `X`. */
  scope: z.string(),
  /**
   * Where the entry was activated: `api`, `dashboard`, `cli`, `gateway:<name>`, `manifest:<ns/name>`, `configmap`,
   * `configmap:<ns>`, …
   */
  source: z.string(),
  reason: z.string(),
  since: z.string(),
})

/**
 * Position of a state in the total order over all replicas: a higher epoch is later, then a higher revision. Both come
 * from the database.
 */
export const StateOrder = z.object({ epoch: z.number().int(), revision: z.number().int() })

/**
 * A kill switch that is in force although the database may not contain it yet. `proof`: hex HMAC with a key of the
 * control plane's replicas.
 */
export const KillAnnouncement = z.object({
  id: z.string().min(1).max(64),
  entry: KillEntry,
  proof: z.string().max(128),
})

/**
 * The complete kill state with its order, so that an older state deactivates nothing. Older control planes do not send
 * it.
 */
export const KillStateMessage = z.object({
  /** Position of `stored` in the order of states. */
  order: StateOrder,
  stored: z.array(KillEntry),
  /** Kill switches that were broadcast before they are stored. They are in force until their ids are in `settled`. */
  announced: z.array(KillAnnouncement),
  /** Ids of announcements that have been stored or deactivated, so that only `stored` decides about them. */
  settled: z.array(z.string()),
})

export type KillEntry = z.infer<typeof KillEntry>
export type StateOrder = z.infer<typeof StateOrder>
export type KillAnnouncement = z.infer<typeof KillAnnouncement>
export type KillStateMessage = z.infer<typeof KillStateMessage>
