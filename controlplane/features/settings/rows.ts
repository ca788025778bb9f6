import type { Keyring } from '../../crypto/keyring.ts'
import { sealedPlace } from '../../crypto/sealed-places.ts'
import type { Query } from '../../db/query.ts'
import type { StoredSetting } from './store.ts'

type Place = { readonly orgId: string; readonly keyring: Keyring }

export async function getSetting(
  q: Query,
  orgId: string,
  key: string,
): Promise<StoredSetting['value'] | undefined> {
  const { rows } = await q.query<StoredSetting>(
    'select key, value from settings where org_id = $1 and key = $2',
    [orgId, key],
  )
  return rows[0]?.value
}

/** Returns the value of the setting in plain text; null when the setting is not set. */
export async function readSetting(q: Query, { orgId, keyring }: Place, key: string): Promise<string | null> {
  const value = await getSetting(q, orgId, key)
  if (value === undefined) return null
  return typeof value === 'string' ? value : keyring.open(value, sealedPlace.setting(key))
}
