import type { Resolve } from '../../../../core/request/outbound-address.ts'
import type { Delivery } from '../delivery.ts'
import type { Send } from '../send.ts'
import { judgeReply } from '../webhook.ts'
import { encryptPush } from './encryption.ts'
import { isPushEndpoint, PUSH_SERVICES } from './push-services.ts'
import type { Vapid } from './vapid.ts'

/** Options that only tests use, to replace the public push services and DNS. */
export type PushOptions = {
  readonly services?: readonly string[]
  readonly resolve?: Resolve
  /** Certificate authorities (PEM) that replace the default certificate authorities of Node. */
  readonly ca?: readonly string[]
}

/** A subscribed browser: the URL at its push service, and its keys in base64url. */
export type PushTarget = { readonly endpoint: string; readonly p256dh: string; readonly auth: string }

/**
 * Content of a push message. A message names no agent, action or target, because operating systems show notifications
 * on locked screens. `count`: number of approvals that the user may answer; null in a test message. `link`: page of the
 * dashboard.
 */
export type PushMessage = { readonly count: number | null; readonly link: string }

/** Result of an attempt. `gone`: the browser has ended the subscription. */
export type PushDelivery = Delivery | { readonly outcome: 'gone' }

export type PushSender = {
  /** Public key of this installation, base64url. */
  readonly publicKey: string
  isEndpoint(endpoint: string): boolean
  send(target: PushTarget, message: PushMessage, signal: AbortSignal): Promise<PushDelivery>
}

/** Seconds for which a push service keeps a message for a browser that is offline. */
const TTL_S = 600
/** Length in bytes to which messages are padded. */
const PADDED = 128

/**
 * Creates the sender of Web Push messages (RFC 8030). Messages are encrypted for the browser and signed by this
 * installation (VAPID).
 */
export function createPushSender(deps: {
  readonly send: Send
  readonly vapid: Vapid
  readonly nowMs: () => number
  readonly services?: readonly string[] | undefined
}): PushSender {
  const { send, vapid, nowMs, services = PUSH_SERVICES } = deps
  return {
    publicKey: vapid.publicKey,
    isEndpoint: (endpoint) => isPushEndpoint(endpoint, services),
    async send({ endpoint, p256dh, auth }, message, signal) {
      if (!isPushEndpoint(endpoint, services))
        return { outcome: 'failed', why: 'the push service is not one of the known services', status: null }
      const keys = { p256dh: Buffer.from(p256dh, 'base64url'), auth: Buffer.from(auth, 'base64url') }
      const body = encryptPush(Buffer.from(JSON.stringify(message)), keys, PADDED)
      const headers = {
        'content-type': 'application/octet-stream',
        'content-encoding': 'aes128gcm',
        authorization: await vapid.authorization(endpoint, nowMs()),
        ttl: String(TTL_S),
        urgency: 'high',
        // With the same topic, a message replaces an earlier message that the browser has not received yet (RFC 8030,
        // section 5.4).
        topic: 'approvals',
        'user-agent': 'chaperone',
      }
      const reply = await send({ url: endpoint, headers, body, readBytes: 0, signal })
      return reply.status === 404 || reply.status === 410 ? { outcome: 'gone' } : judgeReply(reply)
    },
  }
}
