import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'

export type StoredSetting = { readonly key: string; readonly value: string | Sealed }

export async function listSettings(q: Query, orgId: string): Promise<readonly StoredSetting[]> {
  const { rows } = await q.query<StoredSetting>(
    'select key, value from settings where org_id = $1 order by key',
    [orgId],
  )
  return rows
}

export async function putSetting(q: Query, orgId: string, setting: StoredSetting): Promise<void> {
  await q.query(
    `insert into settings (org_id, key, value) values ($1, $2, $3)
     on conflict (org_id, key) do update set value = excluded.value`,
    [orgId, setting.key, JSON.stringify(setting.value)],
  )
}

export async function deleteSetting(q: Query, orgId: string, key: string): Promise<void> {
  await q.query('delete from settings where org_id = $1 and key = $2', [orgId, key])
}
