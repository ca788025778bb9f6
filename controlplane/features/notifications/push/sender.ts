import type { Resolve } from '../../../../core/request/outbound-address.ts'
import type { Delivery } from '../delivery.ts'
import type { Send } from '../send.ts'
import { judgeReply } from '../webhook.ts'
import { encryptPush } from './encryption.ts'
import { isPushEndpoint, PUSH_SERVICES } from './push-services.ts'
import type { Vapid } from './vapid.ts'

/** Replaces the public push services. For tests. */
export type PushOptions = {
  readonly services?: readonly string[]
  readonly resolve?: Resolve
  /** Certificate authorities (PEM) that replace the default certificate authorities of Node. */
  readonly ca?: readonly string[]
}

/** A browser: the URL of its push service and its keys, base64url. */
export type PushTarget = { readonly endpoint: string; readonly p256dh: string; readonly auth: string }

/**
 * Content of a push message. Operating systems show notifications on locked screens, so it names no agent, action or target.
 * `count`: number of approvals that the user may answer; null in a test message. `link`: page of the dashboard.
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
/** Length to which messages are padded, in bytes. */
const PADDED = 128

/** Creates the sender of Web Push messages (RFC 8030): encrypted for the browser, with the identity of this installation. */
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
        // A message replaces an earlier one that the browser has not received yet.
        topic: 'approvals',
        'user-agent': 'chaperone',
      }
      const reply = await send({ url: endpoint, headers, body, readBytes: 0, signal })
      return reply.status === 404 || reply.status === 410 ? { outcome: 'gone' } : judgeReply(reply)
    },
  }
}
