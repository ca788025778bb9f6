import { call } from '../../../api/client.ts'

/**
 * Reports whether this browser can receive Web Push messages on this origin. The origin must use https or be
 * localhost.
 */
export function supportsPush(): boolean {
  return 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window
}

/**
 * Returns the SHA-256 of the endpoint of this browser's subscription, in hex; null when this browser has no
 * subscription.
 */
export async function ownEndpoint(): Promise<string | null> {
  const registration = await navigator.serviceWorker.getRegistration('/')
  const subscription = await registration?.pushManager.getSubscription()
  return subscription == null ? null : sha256Hex(subscription.endpoint)
}

/**
 * Subscribes this browser. Rejects with a sentence if the user or the browser refuses. An existing subscription with
 * another public key is replaced.
 */
export async function subscribe(publicKey: string): Promise<void> {
  if ((await Notification.requestPermission()) !== 'granted')
    throw new Error(
      'This browser blocks notifications from this page. Allow them in the settings of the browser.',
    )
  await navigator.serviceWorker.register('/service-worker.js')
  const { pushManager } = await navigator.serviceWorker.ready
  const options = { userVisibleOnly: true, applicationServerKey: publicKey }
  const earlier = await pushManager.getSubscription()
  const subscription = await pushManager.subscribe(options).catch(async (error: unknown) => {
    if (earlier === null)
      throw new Error(
        `This browser could not subscribe at its push service (${String(error)}). Check its network connection, and try again.`,
      )
    await earlier.unsubscribe()
    return pushManager.subscribe(options)
  })
  const { endpoint = '', keys = {} } = subscription.toJSON()
  const { p256dh = '', auth = '' } = keys
  await call('POST /api/dashboard/push-subscriptions', { body: { endpoint, keys: { p256dh, auth } } })
}

/** Ends the subscription of this browser, if `endpointSha256` is its endpoint. */
export async function unsubscribe(endpointSha256: string): Promise<void> {
  if (!supportsPush() || (await ownEndpoint()) !== endpointSha256) return
  const registration = await navigator.serviceWorker.getRegistration('/')
  await (await registration?.pushManager.getSubscription())?.unsubscribe()
}

async function sha256Hex(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
