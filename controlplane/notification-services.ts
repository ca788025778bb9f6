import type { Logger } from 'pino'
import { parseCidr } from '../core/request/address.ts'
import type { Reach } from '../core/request/outbound-address.ts'
import type { ControlPlaneConfig } from './config.ts'
import type { Keyring } from './crypto/keyring.ts'
import type { Db } from './db/query.ts'
import { createEgressProxy, type EgressProxySettings } from './egress-proxy.ts'
import type { Approvals } from './features/approvals/service.ts'
import { type ChatAnswers, createChatAnswers } from './features/chat/answers.ts'
import { CHAT_API_URL, type ChatApi, createChatApi } from './features/chat/api.ts'
import { BotCheck } from './features/chat/bot/check.ts'
import { createBotIdentity } from './features/chat/bot/identity.ts'
import { createChat } from './features/chat/service.ts'
import { createChatWebhookChannel } from './features/notifications/channels/chat-webhook.ts'
import { createEmailChannel, type EmailOptions } from './features/notifications/channels/email.ts'
import { createHoldWebhookChannel } from './features/notifications/channels/hold-webhook.ts'
import {
  createNotificationChannels,
  type NotificationChannels,
} from './features/notifications/channels/service.ts'
import { createSlackChannel } from './features/notifications/channels/slack.ts'
import { Outbox } from './features/notifications/outbox.ts'
import { createPushSender, type PushOptions } from './features/notifications/push/sender.ts'
import { createPushSubscriptions, type PushSubscriptions } from './features/notifications/push/service.ts'
import { createVapid } from './features/notifications/push/vapid.ts'
import { createSender, type Send } from './features/notifications/send.ts'
import { createNotifications, type Notifications } from './features/notifications/service.ts'
import { createWebhookDelivery } from './features/notifications/webhook.ts'
import { createWebhookSecret, type WebhookSecret } from './features/notifications/webhook-secret.ts'
import type { ConfirmAccess } from './features/oidc/confirmation.ts'
import type { Settings } from './features/settings/service.ts'

export type NotifyDeps = {
  readonly db: Db
  readonly orgId: string
  readonly log: Logger
  readonly keyring: Keyring
  readonly settings: Pick<Settings, 'read'>
  readonly approvals: Pick<Approvals, 'respond' | 'get' | 'list'>
  readonly config: Pick<ControlPlaneConfig, 'notifyAllowCidrs' | 'publicUrl'> & {
    readonly egressProxy?: EgressProxySettings
  }
  /** Base address of the chat provider's web API; default: the public address. */
  readonly chatApiUrl?: string | undefined
  /** Resolver and certificate authorities of the SMTP server. */
  readonly smtp?: EmailOptions | undefined
  /** Replaces the push services of browsers. */
  readonly push?: PushOptions | undefined
  /** Returns the current decision token of an action; null once the token is used, expired or cancelled. */
  readonly tokenFor: (actionRequestId: string) => Promise<string | null>
  /** Checks whether the user who clicked a button of an approval card still has access. */
  readonly confirmAccess: ConfirmAccess
}

/** Delivers notifications and chat messages until disposed. */
export type Notify = AsyncDisposable & {
  readonly notifications: Notifications
  readonly webhookSecret: WebhookSecret
  readonly channels: NotificationChannels
  readonly push: PushSubscriptions
  readonly chatAnswers: ChatAnswers
  /** Reads the outbox now instead of at the next poll. */
  wake(): void
}

export async function createNotify(deps: NotifyDeps): Promise<Notify> {
  const { send, api } = createChatClient(deps)
  const webhookSecret = createWebhookSecret(deps)
  const dashboardUrl = deps.config.publicUrl
  const chat = createChat({ ...deps, api, dashboardUrl })
  const push = createPush(deps)
  const channels = createNotificationChannels({
    ...deps,
    dashboardUrl,
    push,
    channels: {
      slack: createSlackChannel(api),
      email: createEmailChannel({ reach: reachOf(deps.config), ...deps.smtp }),
      webhook: createHoldWebhookChannel({ send, secret: webhookSecret }),
      chat_webhook: createChatWebhookChannel({ send }),
      web_push: push.channel,
    },
  })
  const botCheck = new BotCheck({ ...deps, identifyBot: createBotIdentity(api) })
  const outbox = await Outbox.start({
    ...deps,
    prepare: async () => {
      await chat.prepare()
      await channels.prepare()
    },
    deliver: {
      webhook: createWebhookDelivery({ ...deps, send, secret: webhookSecret }),
      chat_post: channels.observed('slack', chat.deliver.chat_post),
      chat_update: channels.observed('slack', chat.deliver.chat_update),
      chat_tell: chat.deliver.chat_tell,
      hold_notice: channels.deliver,
    },
  })
  return {
    notifications: createNotifications(deps),
    webhookSecret,
    channels,
    push,
    chatAnswers: createChatAnswers({ ...deps, api }),
    wake: () => outbox.wake(),
    async [Symbol.asyncDispose]() {
      botCheck[Symbol.dispose]()
      await outbox[Symbol.asyncDispose]()
    },
  }
}

function createPush(deps: NotifyDeps): PushSubscriptions {
  const { services, resolve, ca } = deps.push ?? {}
  const send = createSender({
    reach: reachOf(deps.config),
    proxy: createEgressProxy(deps.config.egressProxy),
    ...(resolve === undefined ? {} : { resolve }),
    ...(ca === undefined ? {} : { ca }),
  })
  const vapid = createVapid(deps.keyring, deps.config.publicUrl)
  return createPushSubscriptions({
    ...deps,
    sender: createPushSender({ send, vapid, nowMs: Date.now, services }),
  })
}

/** Creates the function that sends outbound requests, and the client of the chat provider's web API. */
export function createChatClient({
  config,
  chatApiUrl = CHAT_API_URL,
}: {
  readonly config: Pick<ControlPlaneConfig, 'notifyAllowCidrs'> & {
    readonly egressProxy?: EgressProxySettings
  }
  readonly chatApiUrl?: string | undefined
}): { readonly send: Send; readonly api: ChatApi } {
  const proxy = createEgressProxy(config.egressProxy)
  const send = createSender({ reach: reachOf(config), proxy })
  const toChat = createSender({ reach: 'private', proxy })
  return { send, api: createChatApi({ send: toChat, baseUrl: chatApiUrl }) }
}

/**
 * Creates the function that sends exported records. Their destination may be a private address, because the operator of
 * the control plane sets it (`RECORD_EXPORT_URL`).
 */
export function createRecordExportSender({ egressProxy }: Pick<ControlPlaneConfig, 'egressProxy'>): Send {
  return createSender({ reach: 'private', proxy: createEgressProxy(egressProxy) })
}

/**
 * Returns the private ranges to which notifications may be sent, in addition to public addresses
 * (`NOTIFY_ALLOW_CIDRS`).
 */
function reachOf({ notifyAllowCidrs }: Pick<ControlPlaneConfig, 'notifyAllowCidrs'>): Reach {
  return notifyAllowCidrs.flatMap((text) => parseCidr(text) ?? [])
}
