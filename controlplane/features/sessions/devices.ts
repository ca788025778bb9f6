import { createHmac } from 'node:crypto'
import type { Keyring } from '../../crypto/keyring.ts'
import { isSameHash, randomToken } from '../../crypto/tokens.ts'

/** Seconds for which a device counts as known after its last sign-in. */
export const DEVICE_MAX_AGE_S = 180 * 24 * 60 * 60

/**
 * Issues and verifies device proofs. A proof shows that an account signed in on a device before. A proof authenticates
 * no user; it only separates failed attempts of the device from attempts of other clients. The server stores no proofs.
 */
export type SignInDevices = {
  /** Returns a new proof for this account, `<issued at, seconds>.<id>.<signature>`. */
  issue(email: string): string
  /** Returns the id of the device when one of the values is an unexpired proof for this account; otherwise null. */
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
