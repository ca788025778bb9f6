import { afterEach, beforeEach, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db, Query } from '../../../controlplane/db/query.ts'
import { ExpirySweeper } from '../../../controlplane/features/approvals/expiry/service.ts'
import { createTestLog } from '../../sidecar/control/test-log.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let postgres: TestPostgres
let db: Db
let orgId: string
const log = createTestLog() as never

beforeEach(async () => {
  postgres = await workerPostgres()
  db = await openDb({ url: (await postgres.createMigratedDatabase()).url, log })
  orgId = (await ensureOrg(db)).id
})
afterEach(async () => {
  await db.close()
  await postgres.stop()
})

async function open(seconds: number): Promise<string> {
  const id = newId('hold')
  await db.query(
    `insert into approvals (id, org_id, kind, agent, card, expires_at)
     values ($1, $2, 'hold', 'bot', '{}', clock_timestamp() + make_interval(secs => $3))`,
    [id, orgId, seconds],
  )
  return id
}

async function untilExpired(id: string): Promise<void> {
  await eventually('the end', async () => {
    const { rows } = await db.query<{ status: string }>('select status from approvals where id = $1', [id])
    return rows[0]?.status === 'expired' ? true : null
  })
}

/** Returns a database that, at the first query for pending approvals, calls `before` and then waits for `until`. */
function paused(before: () => Promise<unknown>, until: Promise<unknown>): Db {
  let isFirst = true
  const query: Query['query'] = async (text, values) => {
    if (!text.includes('exists(') || !isFirst) return db.query(text, values) as never
    isFirst = false
    await before()
    const found = await db.query(text, values)
    await until
    return found as never
  }
  return { ...db, query }
}

test('an approval that is opened while a sweep runs is swept within seconds', async () => {
  const [looked, isOpened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = paused(async () => looked.resolve(), isOpened.promise)
  using sweeper = new ExpirySweeper({ db: slow, log })
  await looked.promise
  const id = await open(0)
  sweeper.wake()
  isOpened.resolve()
  await untilExpired(id)
})

test('an approval whose time ends while a sweep runs is swept within seconds', async () => {
  const id = await open(3_600)
  const end = () => db.query('update approvals set expires_at = clock_timestamp() where id = $1', [id])
  using _ = new ExpirySweeper({ db: paused(end, Promise.resolve()), log })
  await untilExpired(id)
})

test('approvals that are opened in quick succession do not postpone a sweep', async () => {
  const looked = Promise.withResolvers<void>()
  const found = paused(async () => looked.resolve(), Promise.resolve())
  using sweeper = new ExpirySweeper({ db: found, log })
  await looked.promise
  const id = await open(0)
  const opening = setInterval(() => sweeper.wake(), 100)
  try {
    sweeper.wake()
    await untilExpired(id)
  } finally {
    clearInterval(opening)
  }
})
