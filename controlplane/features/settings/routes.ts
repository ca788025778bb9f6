import * as z from 'zod'
import { actorOf } from '../../events.ts'
import { Ok, PlainUrl } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { MASK, type Settings } from './service.ts'

const Value = z.string().max(8_192)
const SettingsBody = z.strictObject({
  settings: z.strictObject({
    chat_bot_token: Value.optional(),
    chat_signing_secret: Value.optional(),
    chat_channel_id: Value.optional(),
    codehost_pat: Value.optional(),
    /** Shown masked with the others; it is made here and never given. */
    webhook_secret: z
      .literal(MASK, 'cannot be chosen: POST /api/dashboard/settings/webhook-secret makes a new one')
      .optional(),
    gateway_url: z.union([z.literal(''), PlainUrl]).optional(),
  }),
})

export function createSettingsRoutes({ settings }: { readonly settings: Settings }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/settings',
      auth: 'settings/get',
      summary: 'Settings that are set; secrets are masked',
      response: z.object({ settings: z.record(z.string(), z.string()) }),
      handler: async () => ({ settings: await settings.masked() }),
    }),
    route({
      method: 'PUT',
      path: '/api/dashboard/settings',
      auth: 'settings/update',
      givesAccess: true,
      summary: 'Merges settings; an empty string removes one, a mask changes nothing',
      body: SettingsBody,
      response: Ok,
      handler: async ({ body, principal }) => {
        const { webhook_secret: _unchanged, ...values } = body.settings
        await settings.update(actorOf(principal), values)
        return { ok: true }
      },
    }),
  ]
}
