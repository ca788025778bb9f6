import type { WebhookSettings } from '../../../../core/wire/notifications/notification-channels.ts'
import type { Send } from '../send.ts'
import { judgeReply } from '../webhook.ts'
import { signWebhook, type WebhookSecret } from '../webhook-secret.ts'
import type { Channel } from './channel.ts'

/** Posts notices as JSON, signed as Standard Webhooks with the webhook secret of the installation. */
export function createHoldWebhookChannel(deps: {
  readonly send: Send
  readonly secret: Pick<WebhookSecret, 'all'>
}): Channel<WebhookSettings> {
  return {
    async send({ url }, { id, event, at, title, link, approval }, signal) {
      const body = JSON.stringify({
        event_id: id,
        event,
        title,
        link,
        approval: approval === null ? null : factsOf(approval),
      })
      const timestamp = Math.floor(at.getTime() / 1_000)
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'chaperone',
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signWebhook(await deps.secret.all(), { id, timestamp, body }),
      }
      return judgeReply(await deps.send({ url, headers, body, readBytes: 0, signal }))
    },
  }
}

type Approval = Parameters<Channel<WebhookSettings>['send']>[1]['approval'] & {}

/**
 * Returns the fields of the approval that the webhook contains. Parameters, headers and the body of the
 * request are shown in the dashboard only.
 */
function factsOf(card: Approval) {
  return {
    id: card.id,
    status: card.status,
    agent: card.agent,
    action_type: card.action_type,
    target: card.target,
    risk_score: card.risk_score,
    matched_rule: card.matched_rule,
    required_groups: card.required_groups.map(({ groups }) => groups),
    created_at: card.created_at,
    expires_at: card.expires_at,
    responded_by: card.responded_by,
  }
}
