import { Ok } from '../../../core/wire/schema/fields.ts'
import { SettingsBody, SettingsReply } from '../../../core/wire/settings.ts'
import { type Route, route } from '../../http/route.ts'
import { actorOf } from '../audit/actor.ts'
import type { Settings } from './service.ts'

export function createSettingsRoutes({ settings }: { readonly settings: Settings }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/settings',
      auth: 'settings/get',
      summary: 'Lists the stored settings; secrets are masked',
      response: SettingsReply,
      handler: async () => ({ settings: await settings.masked() }),
    }),
    route({
      method: 'PUT',
      path: '/api/dashboard/settings',
      auth: 'settings/update',
      givesAccess: true,
      summary:
        'Changes the given settings and keeps the others; an empty string removes a setting, and the mask of a secret leaves it unchanged',
      body: SettingsBody,
      response: Ok,
      handler: async ({ body, principal }) => {
        const { webhook_secret: _unchanged, ...values } = body.settings
        await settings.update(actorOf(principal), values)
        return { ok: true as const }
      },
    }),
  ]
}
