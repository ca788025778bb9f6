import type { Logger } from 'pino'
import type { Keyring } from '../../../crypto/keyring.ts'
import { bumpVersion } from '../../../db/config-version.ts'
import type { Db } from '../../../db/query.ts'
import type { Actor } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import { insertSigningKey, retireSigningKeys } from './signing-key-store.ts'
import { loadSigningKeys, newSigningKey, type SigningKey, type SigningKeys } from './signing-keys.ts'

export type TokenKeysDeps = {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
  readonly keys: SigningKeys
  readonly log: Logger
  readonly clock: { monotonicMs(): number }
}

/** Keys that sign and verify decision tokens. Replicas share the keys through the database. */
export type TokenKeys = {
  current(): SigningKey
  /**
   * Returns the signing key with this id. Reads the database again for an unknown id. Returns undefined when the key
   * does not exist.
   */
  find(kid: string): Promise<SigningKey | undefined>
  all(): Promise<readonly SigningKey[]>
  /**
   * Replaces the signing key. Replaced keys verify tokens for another hour. Gateways and the JWKS endpoint get the new
   * key at once.
   */
  rotate(by: Actor): Promise<SigningKey>
}

/**
 * Seconds for which a replaced key still verifies tokens. Tokens are valid for 5 minutes, and another replica may sign
 * with the replaced key until its next read.
 */
const OVERLAP_S = 3_600
const RELOAD_MS = 60_000
/**
 * Minimum time in milliseconds between two reads for unknown key ids. A read is necessary because another replica may
 * have just rotated the key; the minimum prevents one query per invented key id.
 */
const UNKNOWN_RELOAD_MS = 250

export function createTokenKeys(deps: TokenKeysDeps): TokenKeys {
  const { db, orgId, keyring, clock, log } = deps
  let { keys } = deps
  let loadedAt = clock.monotonicMs()
  let loading: Promise<void> | null = null

  const reload = (): Promise<void> => {
    loadedAt = clock.monotonicMs()
    loading ??= db
      .tx((q) => loadSigningKeys(q, keyring))
      .then((loaded) => {
        keys = loaded
      })
      .finally(() => {
        loading = null
      })
    return loading
  }
  const age = () => clock.monotonicMs() - loadedAt
  const known = (kid: string) => keys.all.find((key) => key.kid === kid)

  return {
    current() {
      if (age() > RELOAD_MS)
        reload().catch((error) => log.warn({ err: error }, 'signing keys could not be read'))
      return keys.current
    },
    async find(kid) {
      const key = known(kid)
      if (key !== undefined) return key
      if (age() < UNKNOWN_RELOAD_MS) return undefined
      await reload()
      return known(kid)
    },
    async all() {
      if (age() > UNKNOWN_RELOAD_MS) await reload()
      return keys.all
    },
    async rotate(by) {
      const fresh = await newSigningKey(keyring)
      await db.tx(async (q) => {
        await retireSigningKeys(q, OVERLAP_S)
        await insertSigningKey(q, fresh)
        const details = { change: 'signing_key_rotated', kid: fresh.kid, overlap_seconds: OVERLAP_S }
        await recordEvent(q, { orgId, actor: by, type: 'settings.updated', details })
        await bumpVersion(q)
      })
      await reload()
      return keys.current
    },
  }
}
