import pino from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import {
  claimMinted,
  storeMinted,
  storeMintFailure,
} from '../../../controlplane/features/credentials/minting/store.ts'
import { getMinted, type MintedRow } from '../../../controlplane/features/credentials/rows.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

/** Two replicas exchange one refresh token, because the claim of the first one ended before it stored its result. */
let postgres: TestPostgres
let db: Db
let orgId: string

beforeAll(async () => {
  postgres = await workerPostgres()
  const database = await postgres.createMigratedDatabase()
  db = await openDb({ url: database.url, log: pino({ level: 'silent' }) })
  orgId = (await db.tx((q) => ensureOrg(q))).id
})
afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})
beforeEach(async () => {
  await db.query('delete from connectors', [])
  const spec = { type: 'generic', domains: ['a.test'], credential: { oauth2: {} } }
  await db.query(
    `insert into connectors (id, org_id, name, type, gateway_ids, spec, credential, source, lost_domains)
     values ('con', $1, 'con', 'generic', '{}', $2, '{}', 'file', '{}')`,
    [orgId, JSON.stringify(spec)],
  )
})

/** Claims the exchange as a replica whose claim ends at once. */
async function claim(sourceHash = 'one'): Promise<MintedRow> {
  const row = await claimMinted(db, { connectorId: 'con', orgId, sourceHash, isForced: true })
  await db.query(`update minted_credentials set claimed_until = now() - interval '1 second'`, [])
  if (row === null) throw new Error('the exchange is claimed')
  return row
}

const sealed = (text: string) => ({ text }) as never

const stored = (claimed: MintedRow, rotated: string, sourceHash = 'one') =>
  storeMinted(db, {
    ...{ connectorId: 'con', sourceHash, claimed, secret: sealed(`secret of ${rotated}`) },
    ...{ rotated: sealed(rotated), expiresInMs: 3_000_000, dueInMs: 2_000_000, isSame: false },
  })

const failed = (claimed: MintedRow, rotated: string | null, sourceHash = 'one') =>
  storeMintFailure(db, {
    ...{ connectorId: 'con', sourceHash, claimed, error: 'The source refused.', dueInMs: 60_000 },
    rotated: rotated === null ? null : sealed(rotated),
  })

const rotatedNow = async () => (await getMinted(db, 'con'))?.rotated

test('the refresh token of the exchange that was stored last stays, not that of a slower replica', async () => {
  const [slow, quick] = [await claim(), await claim()]
  expect(await stored(quick, 'second')).toMatchObject({ serial: 1 })
  expect(await stored(slow, 'first')).toBeNull()
  expect(await rotatedNow()).toEqual({ text: 'second' })
})

test('the failure of a slower replica does not replace a secret that was stored since', async () => {
  const [slow, quick] = [await claim(), await claim()]
  await stored(quick, 'second')
  await failed(slow, 'first')
  expect(await getMinted(db, 'con')).toMatchObject({ rotated: { text: 'second' }, error: null })
})

test('the only refresh token that is valid is stored although another replica was refused meanwhile', async () => {
  const [slow, quick] = [await claim(), await claim()]
  await failed(quick, null)
  expect(await stored(slow, 'first')).toMatchObject({ serial: 1 })
  expect(await getMinted(db, 'con')).toMatchObject({ rotated: { text: 'first' }, error: null })
})

test.each([
  ['a secret', (row: MintedRow) => stored(row, 'second', 'two')],
  ['a failure', (row: MintedRow) => failed(row, 'second', 'two')],
])('an exchange of a replaced source does not replace %s of the new one', async (_name, store) => {
  const slow = await claim()
  await store(await claim('two'))
  expect(await stored(slow, 'first')).toBeNull()
  await failed(slow, 'first')
  expect(await getMinted(db, 'con')).toMatchObject({ sourceHash: 'two', rotated: { text: 'second' } })
})
