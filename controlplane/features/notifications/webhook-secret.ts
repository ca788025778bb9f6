import { createHmac, randomBytes } from 'node:crypto'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import { sealedPlace } from '../../crypto/sealed-places.ts'
import type { Db, Query } from '../../db/query.ts'
import type { Actor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { getSetting } from '../settings/rows.ts'
import { storeSetting } from '../settings/service.ts'
import { insertSettingOnce } from './store.ts'

export type WebhookSecret = {
  /**
   * Returns the secrets that sign notifications, newest first. The previous secret also signs notifications, so that
   * receivers can replace the secret after a rotation.
   */
  all(): Promise<readonly string[]>
  /** Returns the newest secret (`whsec_...`). Creates the secret at the first call. */
  current(): Promise<string>
  /** Creates and returns a new secret. The previous secret also signs notifications until the next rotation. */
  rotate(by: Actor): Promise<string>
}

const KEY = 'webhook_secret'
const PREFIX = 'whsec_'

export function createWebhookSecret(deps: {
  readonly db: Db
  readonly orgId: string
  readonly keyring: Keyring
}): WebhookSecret {
  const { db, orgId, keyring } = deps
  const place = sealedPlace.setting(KEY)
  const read = async (q: Query): Promise<readonly string[]> => {
    const stored = await getSetting(q, orgId, KEY)
    return stored === undefined ? [] : unseal(stored, keyring, place)
  }
  const all = async (): Promise<readonly string[]> => {
    const known = await read(db)
    if (known.length > 0) return known
    await insertSettingOnce(db, orgId, { key: KEY, value: keyring.seal(newSecret(), place) })
    return read(db)
  }
  return {
    all,
    async current() {
      const [newest] = await all()
      if (newest === undefined)
        throw new Error('another process removed the webhook secret while it was being created: try again')
      return newest
    },
    async rotate(by) {
      const secret = newSecret()
      await db.tx(async (q) => {
        const [previous] = await read(q)
        const secrets = previous === undefined ? [secret] : [secret, previous]
        await storeSetting(q, orgId, { key: KEY, value: keyring.seal(secrets.join(' '), place) })
        await recordEvent(q, { orgId, actor: by, type: 'settings.updated', details: { keys: [KEY] } })
      })
      return secret
    },
  }
}

/**
 * Returns the `webhook-signature` header of Standard Webhooks: one `v1,<base64>` per secret. `timestamp` is in Unix
 * seconds.
 */
export function signWebhook(
  secrets: readonly string[],
  message: { readonly id: string; readonly timestamp: number; readonly body: string },
): string {
  const { id, timestamp, body } = message
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return signatures.join(' ')
}

function unseal(stored: string | Sealed, keyring: Keyring, place: string): readonly string[] {
  const text = typeof stored === 'string' ? stored : keyring.open(stored, place)
  return text.split(' ')
}

function newSecret(): string {
  return PREFIX + randomBytes(32).toString('base64')
}
