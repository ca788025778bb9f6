import { createHmac } from 'node:crypto'
import type { Keyring } from '../../crypto/keyring.ts'
import { isSameHash, randomToken } from '../../crypto/tokens.ts'

/** Days that a device counts as known after its last sign-in. */
export const DEVICE_MAX_AGE_S = 180 * 24 * 60 * 60

/**
 * Proof that an account signed in on a device before. It signs nobody in: the device's failed attempts are counted apart
 * from those of strangers. Nothing is stored.
 */
export type SignInDevices = {
  /** A new proof for this account: `<issued at, seconds>.<id>.<signature>`. */
  issue(email: string): string
  /** The id of the device, when one of the values is a proof for this account that is not over; else null. */
  find(email: string, values: readonly string[]): string | null
}

export function createSignInDevices(
  keyring: Pick<Keyring, 'derive'>,
  nowS: () => number = () => Math.floor(Date.now() / 1_000),
): SignInDevices {
  const key = keyring.derive('devices that signed in')
  const sign = (email: string, issuedAt: string, id: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([email.toLowerCase(), issuedAt, id]))
      .digest()
  const idOf = (email: string, value: string): string | null => {
    const [, issuedAt, id, signature] = /^(\d{1,12})\.([\w-]{43})\.([\w-]{43})$/.exec(value) ?? []
    if (issuedAt === undefined || id === undefined || signature === undefined) return null
    const ageS = nowS() - Number(issuedAt)
    const isGood = isSameHash(Buffer.from(signature, 'base64url'), sign(email, issuedAt, id))
    return isGood && ageS <= DEVICE_MAX_AGE_S ? id : null
  }
  return {
    issue(email) {
      const [issuedAt, id] = [String(nowS()), randomToken()]
      return [issuedAt, id, sign(email, issuedAt, id).toString('base64url')].join('.')
    },
    find: (email, values) => values.map((value) => idOf(email, value)).find((id) => id !== null) ?? null,
  }
}
