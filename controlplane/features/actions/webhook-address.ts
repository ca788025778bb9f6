import type { Keyring } from '../../crypto/keyring.ts'
import type { Sealed } from '../../crypto/sealed.ts'

/**
 * Encrypts the `webhook_url` of an action for storage, because the path of a webhook URL may contain a secret of its
 * receiver.
 */
export function sealWebhook(keyring: Pick<Keyring, 'seal'>, actionId: string, url: string): Sealed {
  return keyring.seal(url, place(actionId))
}

export function openWebhook(keyring: Pick<Keyring, 'open'>, actionId: string, sealed: Sealed): string {
  return keyring.open(sealed, place(actionId))
}

function place(actionId: string): string {
  return `webhook ${actionId}`
}
