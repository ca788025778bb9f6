import type { Keyring } from '../../crypto/keyring.ts'
import { sealedPlace } from '../../crypto/sealed-places.ts'
import type { Deliver, Delivery } from './delivery.ts'
import type { Send, SendReply } from './send.ts'
import type { Leased } from './store.ts'
import { signWebhook, type WebhookSecret } from './webhook-secret.ts'

export type WebhookDeps = {
  readonly send: Send
  readonly keyring: Keyring
  readonly secret: WebhookSecret
  /** Returns the current decision token of an action; null once the token is used, expired or cancelled. */
  readonly tokenFor: (actionRequestId: string) => Promise<string | null>
}

/**
 * Delivers decision notifications, signed as Standard Webhooks (`webhook-id`, `webhook-timestamp`,
 * `webhook-signature`).
 */
export function createWebhookDelivery(deps: WebhookDeps): Deliver {
  return async (message, signal) => {
    if (message.url === null) return { outcome: 'obsolete', why: 'the notification has no address' }
    const url = deps.keyring.open(message.url, sealedPlace.outboxUrl(message.eventId))
    if (!isWeb(url))
      return { outcome: 'refused', why: 'webhook_url is not an http or https address', status: 0 }
    const body = await bodyOf(message, url, deps.tokenFor)
    const timestamp = Math.floor(message.leasedAt.getTime() / 1_000)
    const signature = signWebhook(await deps.secret.all(), { id: message.eventId, timestamp, body })
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'chaperone',
      'webhook-id': message.eventId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signature,
    }
    return judgeReply(await deps.send({ url, headers, body, readBytes: 0, signal }))
  }
}

/**
 * Returns the body of the notification. Omits the decision token over plain http, where others could read the token in
 * transit.
 */
async function bodyOf(message: Leased, url: string, tokenFor: WebhookDeps['tokenFor']): Promise<string> {
  const { status, decision, action_spec } = message.payload
  const mayCarryToken = url.startsWith('https:') && status === 'allowed'
  return JSON.stringify({
    event_id: message.eventId,
    event: message.event,
    action_request_id: message.subjectId,
    status,
    decision,
    decision_token: mayCarryToken ? await tokenFor(message.subjectId) : null,
    action_spec,
    created_at: message.createdAt.toISOString(),
  })
}

/** Returns the result of a delivery attempt that the receiver answered with this status. */
export function judgeReply({ status, retryAfterS }: SendReply): Delivery {
  if (status >= 200 && status < 300) return { outcome: 'delivered', status }
  if (status === 410) return { outcome: 'refused', why: 'the receiver answered 410 Gone', status }
  if (status >= 300 && status < 400) {
    return { outcome: 'failed', why: `answered ${status}: redirects are not followed`, status }
  }
  return { outcome: 'failed', why: `answered ${status}`, status, retryAfterS }
}

function isWeb(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}
