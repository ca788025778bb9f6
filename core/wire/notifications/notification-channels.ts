import * as z from 'zod'
import { Email } from '../schema/fields.ts'

/** Channels that announce held requests to approvers. */
export const CHANNEL_NAMES = ['slack', 'email', 'webhook', 'chat_webhook', 'web_push'] as const
export const ChannelName = z.enum(CHANNEL_NAMES)
/** Names of the channels in sentences. */
export const CHANNEL_TITLES: Readonly<Record<ChannelName, string>> = {
  slack: 'Slack',
  email: 'e-mail',
  webhook: 'webhook',
  chat_webhook: 'chat webhook',
  web_push: 'Web Push',
}

/** Returns the warning about a failing channel, without the error, because users of every role may read the warning. */
export function channelWarning(name: ChannelName): string {
  return `Notifications by ${CHANNEL_TITLES[name]} fail, so this channel does not reach approvers. The error is shown under Settings, Channels. Correct the settings there.`
}

/**
 * URL of a receiver. The URL may contain a secret, so replies show `MASK`; `MASK` in a request leaves the URL
 * unchanged.
 */
const SecretUrl = z.string().min(1).max(2_000)

export const EmailSettings = z.strictObject({
  host: z
    .string()
    .min(1)
    .max(253)
    .regex(/^[A-Za-z0-9.:-]+$/, 'is not a host name or an IP address'),
  port: z.int().min(1).max(65_535).default(587),
  /** `starttls` requires the upgrade to TLS, `implicit` begins with TLS, `none` sends plain text and no password. */
  tls: z.enum(['starttls', 'implicit', 'none']).default('starttls'),
  username: z.string().max(320).default(''),
  password: z.string().max(1_000).default(''),
  from: Email,
  /** Receivers. An empty list stands for the users who may answer the approval. */
  to: z.array(Email).max(50).default([]),
})
export const WebhookSettings = z.strictObject({ url: SecretUrl })
export const ChatWebhookSettings = z.strictObject({
  url: SecretUrl,
  /** `teams` posts an Adaptive Card of Microsoft Teams; `template` posts the template. */
  format: z.enum(['teams', 'template']).default('teams'),
  /** JSON text. `{{title}}`, `{{text}}` and `{{link}}` in its strings are replaced; title and text have no markup. */
  template: z.string().max(4_000).default('{"text": "{{title}}\\n{{text}}\\n{{link}}"}'),
})

/** Replaces the settings of one channel. Null removes the channel. */
export const ChannelBody = z.discriminatedUnion('name', [
  z.strictObject({ name: z.literal('email'), settings: EmailSettings.nullable() }),
  z.strictObject({ name: z.literal('webhook'), settings: WebhookSettings.nullable() }),
  z.strictObject({ name: z.literal('chat_webhook'), settings: ChatWebhookSettings.nullable() }),
])

export const ChannelView = z.object({
  name: ChannelName,
  /** `unproven`: configured, but nothing was sent yet. `failing`: the last attempt failed. */
  state: z.enum(['off', 'unproven', 'ok', 'failing']),
  /** Settings with masked secrets; null for a channel without settings of its own. */
  settings: z.record(z.string(), z.unknown()).nullable(),
  last_delivered_at: z.string().nullable(),
  last_failed_at: z.string().nullable(),
  last_error: z.string().nullable(),
})
export const ChannelList = z.object({ channels: z.array(ChannelView) })
export const TestChannelBody = z.strictObject({ name: ChannelName })
/** Result of a test message. `error`: reason why the channel did not accept the message; null if it did. */
export const TestChannelReply = z.object({ ok: z.boolean(), error: z.string().nullable() })

export type ChannelName = z.infer<typeof ChannelName>
export type EmailSettings = z.infer<typeof EmailSettings>
export type WebhookSettings = z.infer<typeof WebhookSettings>
export type ChatWebhookSettings = z.infer<typeof ChatWebhookSettings>
export type ChannelBody = z.input<typeof ChannelBody>
export type ChannelView = z.infer<typeof ChannelView>
export type ChannelList = z.infer<typeof ChannelList>
export type TestChannelBody = z.infer<typeof TestChannelBody>
export type TestChannelReply = z.infer<typeof TestChannelReply>
