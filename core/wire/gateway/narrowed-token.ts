import * as z from 'zod'

/**
 * Requests a token that covers no more than these actions. The gateway names actions and their targets. The control
 * plane derives the repositories and permissions of the token from both, and never exceeds those of the Connector.
 */
export const NarrowedTokenBody = z.strictObject({
  connector_id: z.string().min(1).max(300),
  actions: z
    .array(
      z.strictObject({
        type: z.string().min(1).max(300),
        /** Target of the action, such as `acme/site`; null if it is not known. */
        target: z.string().max(400).nullable(),
        /** False if the action changes no file in a folder of workflows. */
        changes_workflows: z.boolean(),
      }),
    )
    .min(1)
    .max(64),
  /** True for a request that also reads data which its actions do not name (GraphQL). */
  reads_more: z.boolean(),
})

const NarrowedToken = z.object({
  /** Id of the token in records and audit events. The id is no secret. */
  id: z.string(),
  secret: z.string(),
  /** Serial number of the Connector's secret at the time of issue. A higher number makes this token outdated. */
  serial: z.number().int(),
  /** Hash of the specification and the stored secret (see `MintedSecret.source`). */
  source: z.string(),
  /** Repositories and permissions of the token, such as `acme/site` and `contents:write`. */
  scope: z.array(z.string()),
  /** Time at which the token expires, ISO 8601. */
  expires_at: z.string(),
})

/**
 * `issued`: a token for the actions. `whole`: the gateway sends the token of the Connector, for the reason in `reason`,
 * and may reuse this answer for `valid_ms` milliseconds. `unavailable`: the source failed with the error `reason`.
 */
export const NarrowedTokenReply = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('issued'), token: NarrowedToken }),
  z.object({ outcome: z.literal('whole'), reason: z.string(), valid_ms: z.number() }),
  z.object({ outcome: z.literal('unavailable'), reason: z.string() }),
])

export type NarrowedTokenBody = z.infer<typeof NarrowedTokenBody>
export type NarrowedToken = z.infer<typeof NarrowedToken>
export type NarrowedTokenReply = z.infer<typeof NarrowedTokenReply>
