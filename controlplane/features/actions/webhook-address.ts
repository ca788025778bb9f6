import type { Keyring } from '../../crypto/keyring.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import { sealedPlace } from '../../crypto/sealed-places.ts'

/**
 * Encrypts the `webhook_url` of an action for storage, because the path of a webhook URL may contain a secret of its
 * receiver.
 */
export function sealWebhook(keyring: Pick<Keyring, 'seal'>, actionId: string, url: string): Sealed {
  return keyring.seal(url, sealedPlace.actionWebhook(actionId))
}

export function openWebhook(keyring: Pick<Keyring, 'open'>, actionId: string, sealed: Sealed): string {
  return keyring.open(sealed, sealedPlace.actionWebhook(actionId))
}
