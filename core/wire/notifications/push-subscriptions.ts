import * as z from 'zod'
import { Id } from '../schema/fields.ts'

const Key = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[A-Za-z0-9_-]+={0,2}$/, 'is not base64url')

/** Subscription of a browser, as `PushSubscription.toJSON()` returns it (RFC 8030, RFC 8291). */
export const PushSubscriptionBody = z.strictObject({
  endpoint: z.string().min(1).max(2_000),
  keys: z.strictObject({ p256dh: Key, auth: Key }),
})

export const PushSubscriptionView = z.object({
  id: z.string(),
  /** Host of the push service. */
  host: z.string(),
  /** Hex SHA-256 of the endpoint, by which a browser finds its own subscription. */
  endpoint_sha256: z.string(),
  created_at: z.string(),
  last_delivered_at: z.string().nullable(),
  last_failed_at: z.string().nullable(),
  last_error: z.string().nullable(),
})

export const PushSubscriptionList = z.object({
  /** Public key of this installation, base64url: `applicationServerKey` of a new subscription (RFC 8292). */
  public_key: z.string(),
  subscriptions: z.array(PushSubscriptionView),
})
export const PushSubscriptionReply = z.object({ ok: z.literal(true), id: z.string() })
export const PushSubscriptionQuery = z.strictObject({ id: Id })
export const TestPushBody = z.strictObject({ id: Id })

export type PushSubscriptionBody = z.infer<typeof PushSubscriptionBody>
export type PushSubscriptionView = z.infer<typeof PushSubscriptionView>
export type PushSubscriptionList = z.infer<typeof PushSubscriptionList>
export type PushSubscriptionReply = z.infer<typeof PushSubscriptionReply>
export type PushSubscriptionQuery = z.infer<typeof PushSubscriptionQuery>
export type TestPushBody = z.infer<typeof TestPushBody>
