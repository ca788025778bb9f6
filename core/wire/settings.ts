import * as z from 'zod'
import { PlainUrl } from './schema/fields.ts'

/** Placeholder for a stored secret in responses. A request with this value leaves the secret unchanged. */
export const MASK = '********'

/** Settings that a user can change. */
export const SETTING_KEYS = [
  'chat_bot_token',
  'chat_signing_secret',
  'chat_channel_id',
  'codehost_pat',
  'gateway_url',
] as const
export type SettingKey = (typeof SETTING_KEYS)[number]

/** Settings without a secret. They are stored in plain text; all others are encrypted, and masked in responses. */
export const PLAIN_SETTINGS: ReadonlySet<string> = new Set<SettingKey>(['gateway_url', 'chat_channel_id'])

const Value = z.string().max(8_192)

export const SettingsReply = z.object({ settings: z.record(z.string(), z.string()) })
/** Changes to the settings. An empty string removes a setting, and absent settings stay unchanged. */
export const SettingsBody = z.strictObject({
  settings: z.strictObject({
    chat_bot_token: Value.optional(),
    chat_signing_secret: Value.optional(),
    chat_channel_id: Value.optional(),
    codehost_pat: Value.optional(),
    /**
     * Secret that signs webhook notifications. The control plane generates it, so a request may contain only the mask.
     */
    webhook_secret: z
      .literal(MASK, 'cannot be set; POST /api/dashboard/settings/webhook-secret generates a new one')
      .optional(),
    gateway_url: z.union([z.literal(''), PlainUrl]).optional(),
  }),
})

export const RotateWebhookSecretBody = z.strictObject({})
export const WebhookSecretReply = z.object({ webhook_secret: z.string() })

export type SettingsReply = z.infer<typeof SettingsReply>
export type SettingsBody = z.input<typeof SettingsBody>
export type WebhookSecretReply = z.infer<typeof WebhookSecretReply>
