import * as z from 'zod'
import type { ChannelList } from '../../../core/wire/notifications/notification-channels.ts'
import { replyFields } from '../client/reply-fields.ts'
import { type Check, ok, warning } from './check.ts'

const Channels = replyFields<ChannelList>()(
  z.object({
    channels: z.array(
      z.looseObject({ name: z.string(), state: z.string(), last_error: z.string().nullable().default(null) }),
    ),
  }),
)

/** Checks the channels that announce held requests to approvers, as the control plane lists them. */
export function channelChecks(list: unknown): Check[] {
  const { channels } = Channels.parse(list)
  const configured = channels.filter(({ state }) => state !== 'off')
  if (configured.length === 0)
    return [
      ok(
        'notifications',
        'no channel is configured, so approvers see held requests only on the page Approvals',
      ),
    ]
  return configured.map(({ name, state, last_error: error }) => {
    if (state === 'failing')
      return warning(
        `notifications: ${name}`,
        error ?? 'the last message failed',
        'correct it under Settings, Channels',
      )
    return ok(`notifications: ${name}`, state === 'ok' ? 'ok' : 'configured, nothing sent yet')
  })
}
