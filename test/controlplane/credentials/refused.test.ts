import pino from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { makeRefusedDue, storeMinted } from '../../../controlplane/features/credentials/minting/store.ts'
import { getMinted } from '../../../controlplane/features/credentials/rows.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let postgres: TestPostgres
let db: Db
let serial = 0

beforeAll(async () => {
  postgres = await workerPostgres()
  const { url } = await postgres.createMigratedDatabase()
  db = await openDb({ url, log: pino({ level: 'silent' }) })
  const { id } = await db.tx((q) => ensureOrg(q))
  await db.query(
    `insert into connectors (id, org_id, name, type, gateway_ids, spec, credential, source, lost_domains)
     values ('con', $1, 'con', 'generic', '{}', '{}', '{}', 'file', '{}')`,
    [id],
  )
  await db.query(`insert into minted_credentials (connector_id, org_id) values ('con', $1)`, [id])
})
beforeEach(async () => {
  await mint()
  // A scheduled exchange.
  await mint()
})
afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})

async function mint(): Promise<void> {
  const claimed = await getMinted(db, 'con')
  if (claimed === undefined) throw new Error('the Connector has no row')
  const stored = await storeMinted(db, {
    claimed,
    ...{ connectorId: 'con', sourceHash: 'source', secret: {} as never, rotated: null, isSame: false },
    ...{ expiresInMs: 10_000_000, dueInMs: 9_000_000 },
  })
  serial = stored?.serial ?? 0
}

/** Reports whether the current secret is replaced when an upstream refuses it `ageS` seconds after its issue. */
async function isReplaced(ageS: number): Promise<boolean> {
  await db.query(`update minted_credentials set issued_at = now() - $1 * interval '1 second'`, [ageS])
  return (await makeRefusedDue(db, { connectorId: 'con', gatewayId: 'gw', serial })) !== null
}

test('each secret that replaces a refused one is kept twice as long, at most an hour', async () => {
  for (const ageS of [10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600, 3_600]) {
    expect(await isReplaced(ageS - 1)).toBe(false)
    expect(await isReplaced(ageS)).toBe(true)
    await mint()
  }
})

test('a scheduled exchange ends the sequence', async () => {
  expect(await isReplaced(10)).toBe(true)
  await mint()
  expect(await isReplaced(19)).toBe(false)
  await mint()
  expect(await isReplaced(10)).toBe(true)
})

test('a refusal of a secret whose exchange is due already does not lengthen the time', async () => {
  await db.query(`update minted_credentials set due_at = now() - interval '1 second'`)
  expect(await isReplaced(10)).toBe(true)
  expect(await isReplaced(10)).toBe(true)
  await mint()
  expect(await isReplaced(10)).toBe(true)
  // The gateways report one secret several times.
  expect(await isReplaced(10)).toBe(true)
  await mint()
  expect(await isReplaced(19)).toBe(false)
  expect(await isReplaced(20)).toBe(true)
})
