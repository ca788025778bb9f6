import * as z from 'zod'

/**
 * Kill switch of one source. The kill switch is active until its source deactivates it, or a user deactivates the scope
 * for all sources. The kill state is the union of the kill switches of all sources.
 */
export const KillEntry = z.object({
  /**
   * Scope that the kill switch covers: `all`, `connector:X`, `agent:X`, `gateway:X`, `namespace:X`, `claim:X`, `pod:X`,
   * or a bare name `X`.
   */
  scope: z.string(),
  /**
   * Source that activated the kill switch: `api`, `dashboard`, `cli`, `gateway:<name>`, `manifest:<ns/name>`,
   * `configmap`, `configmap:<ns>`, …
   */
  source: z.string(),
  reason: z.string(),
  since: z.string(),
})

/**
 * Position of a state in the total order over all replicas. The state with the higher epoch is later. Within an epoch,
 * the state with the higher revision is later. The database assigns both numbers.
 */
export const StateOrder = z.object({ epoch: z.number().int(), revision: z.number().int() })

/**
 * Kill switch that may be in force before the database contains it. `proof` is a hex HMAC with a key that the replicas
 * of the control plane have in common.
 */
export const KillAnnouncement = z.object({
  id: z.string().min(1).max(64),
  entry: KillEntry,
  proof: z.string().max(128),
})

/**
 * Complete kill state with its position in the order of states, so that an older state deactivates nothing. Older
 * control planes do not send this message.
 */
export const KillStateMessage = z.object({
  /** Position of `stored` in the order of states. */
  order: StateOrder,
  stored: z.array(KillEntry),
  /** Kill switches that were broadcast before they were stored. They are in force until their ids are in `settled`. */
  announced: z.array(KillAnnouncement),
  /**
   * Ids of announced kill switches that have since been stored or deactivated. Whether these are active is determined
   * by `stored` alone.
   */
  settled: z.array(z.string()),
})

export type KillEntry = z.infer<typeof KillEntry>
export type StateOrder = z.infer<typeof StateOrder>
export type KillAnnouncement = z.infer<typeof KillAnnouncement>
export type KillStateMessage = z.infer<typeof KillStateMessage>
