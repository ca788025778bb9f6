import type { Query } from '../../db/query.ts'
import type { StoredSetting } from './store.ts'

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
