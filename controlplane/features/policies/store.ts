import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { COLUMNS, type PolicyRow } from './rows.ts'

export async function countPolicies(q: Query): Promise<number> {
  const { rows } = await q.query<{ count: number }>('select count(*) as count from policies', [])
  return onlyRow(rows).count
}

export async function getPolicyIn(q: ScopedQuery, id: string): Promise<PolicyRow | undefined> {
  const select = `select ${COLUMNS} from policies where id = $1`
  return (await q.rows<PolicyRow>([id], (within) => `${select} and ${within.configuration('policies')}`))[0]
}

/** Locks the row until the transaction ends, so that changes of one policy are serialised. */
export async function lockPolicy(q: Query, id: string): Promise<PolicyRow | undefined> {
  const { rows } = await q.query<PolicyRow>(`select ${COLUMNS} from policies where id = $1 for update`, [id])
  return rows[0]
}
