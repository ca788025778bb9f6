import { expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Query } from '../../../controlplane/db/query.ts'
import { createExpirySweeper } from '../../../controlplane/features/approvals/expiry.ts'
import { createTestLog } from '../../sidecar/control/test-log.ts'
import { eventually } from '../../support/eventually.ts'

import { workerPostgres } from '../../support/worker-postgres.ts'

test('an approval that is opened while a sweep runs is swept within seconds', async () => {
  const postgres = await workerPostgres()
  const { url } = await postgres.createMigratedDatabase()
  const log = createTestLog() as never
  const db = await openDb({ url, log })
  const { id: orgId } = await ensureOrg(db)
  const [counted, isOpened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  /** The first sweep ends after the approval was opened. */
  const query: Query['query'] = async (text, values) => {
    const found = await db.query(text, values)
    if (text.includes('count(*)')) {
      counted.resolve()
      await isOpened.promise
    }
    return found as never
  }
  using sweeper = createExpirySweeper({ db: { ...db, query }, log })
  await counted.promise
  const id = newId('hold')
  await db.query(
    `insert into approvals (id, org_id, kind, agent, card, expires_at)
     values ($1, $2, 'hold', 'bot', '{}', clock_timestamp())`,
    [id, orgId],
  )
  sweeper.wake()
  isOpened.resolve()
  const status = await eventually('the end', async () => {
    const { rows } = await db.query<{ status: string }>('select status from approvals where id = $1', [id])
    return rows[0]?.status === 'pending' ? null : rows[0]?.status
  })
  expect(status).toBe('expired')
  sweeper[Symbol.dispose]()
  await db.close()
  await postgres.stop()
})
