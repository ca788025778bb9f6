import * as z from 'zod'
import { CHANNEL_NAMES, channelWarning } from '../../../core/wire/notifications/notification-channels.ts'
import type { OverviewReply } from '../../../core/wire/overview.ts'
import { type ApiClient, readIfAllowed } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'
import { channelChecks } from './channel-checks.ts'
import type { Check } from './check.ts'

const Overview = replyFields<OverviewReply>()(z.looseObject({ warnings: z.array(z.string()).default([]) }))

/**
 * Returns the warnings of the control plane about the installation, each a sentence with its remedy, and the checks of
 * the notification channels.
 */
export async function installationChecks(api: Pick<ApiClient, 'send'>): Promise<Check[]> {
  const [overview, channels] = await Promise.all([
    readIfAllowed(api, '/api/dashboard/overview'),
    readIfAllowed(api, '/api/dashboard/notification-channels'),
  ])
  // A failing channel has a check of its own with the error. Therefore, the warning about the channel, which does not
  // contain the error, is removed.
  const repeated = channels === null ? [] : CHANNEL_NAMES.map(channelWarning)
  const warnings = Overview.parse(overview ?? {}).warnings.filter((found) => !repeated.includes(found))
  return [
    ...warnings.map((found): Check => ({ name: 'installation', state: 'warning', found })),
    ...(channels === null ? [] : channelChecks(channels)),
  ]
}
