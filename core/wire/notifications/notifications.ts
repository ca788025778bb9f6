import * as z from 'zod'
import type { QueryInput } from '../schema/fields.ts'
import { LIMITS } from '../schema/limits.ts'

const State = z.enum(['pending', 'delivered', 'dead', 'obsolete'])

export const NotificationsQuery = z.strictObject({
  state: State.optional(),
  action_request_id: z.string().min(1).max(100).optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.listMax).default(LIMITS.listDefault),
  offset: z.coerce.number().int().min(0).default(0),
})
export const NotificationView = z.object({
  event_id: z.string(),
  kind: z.string(),
  event: z.string(),
  subject_id: z.string(),
  receiver: z.string(),
  state: State,
  attempts: z.number(),
  next_attempt_at: z.string().nullable(),
  last_error: z.string().nullable(),
  last_status: z.number().nullable(),
  created_at: z.string(),
  ended_at: z.string().nullable(),
})
export const NotificationList = z.object({ notifications: z.array(NotificationView), total: z.number() })
export const RetryNotificationBody = z.strictObject({
  event_id: z.string().min(1).max(100),
  action: z.literal('retry'),
})

/**
 * Result of a click in the chat: `ok` with the status of the approval, or the error for the user who clicked. Both
 * have HTTP status 200, because the chat provider shows any other status as a failure.
 */
export const ChatReply = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), id: z.string().optional(), approval_status: z.string().optional() }),
  z.object({ ok: z.literal(false), error: z.string(), message: z.string() }),
])

export type ChatReply = z.infer<typeof ChatReply>
export type NotificationView = z.infer<typeof NotificationView>
export type NotificationList = z.infer<typeof NotificationList>
export type RetryNotificationBody = z.input<typeof RetryNotificationBody>
export type NotificationsQuery = QueryInput<typeof NotificationsQuery>
