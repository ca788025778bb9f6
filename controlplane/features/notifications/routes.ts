import {
  ChannelBody,
  ChannelList,
  TestChannelBody,
  TestChannelReply,
} from '../../../core/wire/notifications/notification-channels.ts'
import {
  NotificationList,
  NotificationsQuery,
  type NotificationView,
  RetryNotificationBody,
} from '../../../core/wire/notifications/notifications.ts'
import { Ok } from '../../../core/wire/schema/fields.ts'
import { RotateWebhookSecretBody, WebhookSecretReply } from '../../../core/wire/settings.ts'
import { type Route, route } from '../../http/route.ts'
import { actorOf } from '../audit/actor.ts'
import type { NotificationChannels } from './channels/service.ts'
import { createPushRoutes } from './push/routes.ts'
import type { PushSubscriptions } from './push/service.ts'
import type { Notifications } from './service.ts'
import type { WebhookSecret } from './webhook-secret.ts'

export type NotificationRouteDeps = {
  readonly notify: {
    readonly notifications: Notifications
    readonly webhookSecret: WebhookSecret
    readonly channels: NotificationChannels
    readonly push: PushSubscriptions
  }
}

/** Returns the routes for notifications and their states, for channels, and for the secret that signs notifications. */
export function createNotificationRoutes(deps: NotificationRouteDeps): readonly Route[] {
  return [
    ...outboxRoutes(deps),
    ...channelRoutes(deps),
    ...createPushRoutes(deps.notify.push),
    ...secretRoutes(deps),
  ]
}

function outboxRoutes({ notify: { notifications } }: NotificationRouteDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/notifications',
      auth: 'settings/get',
      summary: 'Lists notifications and chat messages with their state, newest first',
      query: NotificationsQuery,
      response: NotificationList,
      handler: async ({ query: { action_request_id: subjectId, ...page } }) => {
        const { rows, total } = await notifications.list({ ...page, subjectId })
        return { notifications: rows.map(entry), total }
      },
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/notifications',
      auth: 'settings/update',
      summary: 'Sends a dead notification again',
      body: RetryNotificationBody,
      response: Ok,
      handler: async ({ body }) => {
        await notifications.retry(body.event_id)
        return { ok: true as const }
      },
    }),
  ]
}

function channelRoutes({ notify: { channels } }: NotificationRouteDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/notification-channels',
      auth: 'settings/get',
      summary:
        'Lists the channels that reach approvers, with their last deliveries and errors; secrets are masked',
      response: ChannelList,
      handler: async () => ({ channels: [...(await channels.list())] }),
    }),
    route({
      method: 'PUT',
      path: '/api/dashboard/notification-channels',
      auth: 'settings/update',
      summary:
        'Replaces the settings of one channel, or removes the channel; a secret that is sent back masked stays unchanged',
      body: ChannelBody,
      response: Ok,
      handler: async ({ body, principal }) => {
        await channels.put(actorOf(principal), body)
        return { ok: true as const }
      },
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/notification-channels/test',
      auth: 'settings/update',
      summary: 'Sends a test message through one channel; returns the error of the receiver',
      statuses: [409],
      body: TestChannelBody,
      response: TestChannelReply,
      handler: async ({ body, principal }) => channels.test(actorOf(principal), body.name),
    }),
  ]
}

function secretRoutes({ notify }: NotificationRouteDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/settings/webhook-secret',
      auth: 'settings/get',
      showsSecret: true,
      summary: 'Returns the secret that signs notifications',
      response: WebhookSecretReply,
      handler: async () => ({ webhook_secret: await notify.webhookSecret.current() }),
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/settings/webhook-secret',
      auth: 'settings/update',
      summary:
        'Rotates the secret that signs notifications; the previous secret also signs them until the next rotation',
      body: RotateWebhookSecretBody,
      response: WebhookSecretReply,
      handler: async ({ principal }) => ({
        webhook_secret: await notify.webhookSecret.rotate(actorOf(principal)),
      }),
    }),
  ]
}

function entry(row: Awaited<ReturnType<Notifications['list']>>['rows'][number]): NotificationView {
  return {
    event_id: row.eventId,
    kind: row.kind,
    event: row.event,
    subject_id: row.subjectId,
    receiver: row.receiver,
    state: row.state,
    attempts: row.attempts,
    next_attempt_at: row.nextAttemptAt?.toISOString() ?? null,
    last_error: row.lastError,
    last_status: row.lastStatus,
    created_at: row.createdAt.toISOString(),
    ended_at: row.endedAt?.toISOString() ?? null,
  }
}
