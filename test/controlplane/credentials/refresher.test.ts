import { setTimeout } from 'node:timers/promises'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { type Mint, MintError, type Minted } from '../../../controlplane/features/credentials/minting/mint.ts'
import { Refresher } from '../../../controlplane/features/credentials/minting/refresher.ts'
import { timesOf } from '../../../controlplane/features/credentials/minting/times.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let postgres: TestPostgres
let db: Db
let orgId: string
const lines: string[] = []
const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })

beforeAll(async () => {
  postgres = await workerPostgres()
  const database = await postgres.createMigratedDatabase()
  db = await openDb({ url: database.url, log })
  orgId = (await db.tx((q) => ensureOrg(q))).id
})
afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})

type Row = {
  readonly secret: unknown
  readonly rotated: unknown
  readonly serial: number
  readonly error: string | null
  /** Milliseconds from the issue to the expiry. */
  readonly validMs: number | null
}

async function insertConnector(id: string): Promise<void> {
  const spec = {
    ...{ type: 'generic', domains: [`${id}.test`] },
    credential: {
      secretRef: { name: id },
      oauth2: { tokenUrl: 'https://login.example.com', clientId: 'chaperone' },
    },
  }
  await db.query(
    `insert into connectors (id, org_id, name, type, gateway_ids, spec, credential, source, lost_domains)
     values ($1, $2, $1, 'generic', '{}', $3, '{}', 'file', '{}')`,
    [id, orgId, JSON.stringify(spec)],
  )
}

type Exchanging = {
  readonly open?: () => string
  /** Database of the refresher. */
  readonly db?: Db
  /** Number of failures, and of secrets, that the row must have. */
  readonly failures?: number
  readonly serial?: number
  readonly onStored?: () => void
}

/** Runs the refresher with one Connector until its first exchange is stored. Returns the row and the audit events. */
async function exchanged(
  id: string,
  mint: Mint,
  {
    open = () => 'stored',
    db: own = db,
    failures = 0,
    serial = 0,
    onStored = () => undefined,
  }: Exchanging = {},
) {
  await insertConnector(id)
  const keyring = {
    ...{ open, seal: (text: string) => ({ text }), derive: () => Buffer.from('key') },
  }
  await using _refresher = await Refresher.start({
    ...{ db: own, orgId, log, mint, random: () => 0 },
    keyring,
  } as never)
  const row = await eventually('a stored exchange', async () => {
    const { rows } = await db.query<Row>(
      `select secret, rotated, serial::float8 as serial, error, failures,
         extract(epoch from expires_at - issued_at)::float8 * 1000 as "validMs" from minted_credentials
       where connector_id = $1 and (error is not null or secret is not null) and failures >= $2
         and serial >= $3`,
      [id, failures, serial],
    )
    return rows[0] ?? null
  })
  onStored()
  const events = await db.query<{ change: string }>(
    `select details ->> 'change' as change from audit_events where details ->> 'connector' = $1`,
    [id],
  )
  await db.query('delete from connectors where id = $1', [id])
  return { row, changes: events.rows.map(({ change }) => change) }
}

const minted = (lifetimeMs: number) => async () => ({ secret: 'token', lifetimeMs, rotated: null })

test.each([0, 999, -5_000, Number.NaN])(
  'a token that is valid for %d ms is a failure of its source, which is not exchanged at once again',
  async (lifetimeMs) => {
    const { row, changes } = await exchanged(`short${lifetimeMs}`.toLowerCase(), minted(lifetimeMs))
    expect(row).toMatchObject({ secret: null, serial: 0 })
    expect(row.error).toContain('valid for less than 1 s')
    expect(changes).toEqual(['credential.failed'])
  },
)

test('a token that is valid for 1 s is sent, and replaced 500 ms later at the earliest and before it expires', async () => {
  const { row, changes } = await exchanged('brief', minted(1_000))
  expect(row).toMatchObject({ serial: 1, error: null })
  expect(changes).toEqual(['credential.minted'])
  for (const random of [0, 0.5, 0.999]) {
    const { dueInMs, expiresInMs } = timesOf(1_000, random)
    expect(dueInMs).toBeGreaterThanOrEqual(500)
    expect(dueInMs).toBeLessThan(expiresInMs)
  }
})

test('a token that is valid until the year 9999 is sent, and replaced in time', async () => {
  const { row, changes } = await exchanged('endless', minted(Date.UTC(9999, 11, 31) - Date.now()))
  expect(row).toMatchObject({ secret: { text: 'token' }, serial: 1, error: null })
  expect(changes).toEqual(['credential.minted'])
})

test('a token of less than a minute is replaced within the first half of its lifetime, another one in the second half', () => {
  const dueAt = (lifetimeMs: number, random: number) => {
    const { dueInMs, expiresInMs } = timesOf(lifetimeMs, random)
    return dueInMs / expiresInMs
  }
  for (const lifetimeMs of [4_000, 30_000, 59_999]) {
    expect(dueAt(lifetimeMs, 0)).toBeCloseTo(0.25)
    expect(dueAt(lifetimeMs, 0.999)).toBeCloseTo(0.5, 3)
  }
  for (const lifetimeMs of [60_000, 3_600_000]) {
    expect(dueAt(lifetimeMs, 0)).toBeCloseTo(0.5)
    expect(dueAt(lifetimeMs, 0.999)).toBeCloseTo(0.75, 3)
  }
})

test('the time of the exchange is part of the lifetime', async () => {
  let tookMs = 0
  const { row } = await exchanged('slow', async () => {
    const sinceMs = performance.now()
    await setTimeout(100)
    tookMs = performance.now() - sinceMs
    return minted(2_000)()
  })
  // A tenth of the rest is the margin. The database rounds to microseconds.
  expect(row.validMs).toBeLessThan((2_000 - tookMs) * 0.9 + 0.01)
})

test('a source that does not answer delays no exchange of another Connector', async () => {
  const hanging = Promise.withResolvers<Minted>()
  await insertConnector('hanging')
  const mint: Mint = ({ credential }) =>
    credential.secretRef?.name === 'hanging' ? hanging.promise : minted(1_000)()
  const { row } = await exchanged('prompt', mint, {
    serial: 3,
    onStored: () => hanging.reject(new MintError('The source was not reached.')),
  })
  expect(row.serial).toBeGreaterThanOrEqual(3)
  await db.query(`delete from connectors where id = 'hanging'`)
})

test('an unexpected error is stored as a failure without its detail, which is in the log', async () => {
  const { row, changes } = await exchanged('broken', () =>
    Promise.reject(new TypeError('canary of a detail')),
  )
  expect(row.error).toBe(
    'The control plane could not mint a token from the stored secret. Its log has the reason. Minting is tried again.',
  )
  expect(changes).toEqual(['credential.failed'])
  expect(lines.join('')).toContain('canary of a detail')
})

test('the error of a source is stored as it is', async () => {
  const { row } = await exchanged('refused', () => Promise.reject(new MintError('The source refused.')))
  expect(row.error).toBe('The source refused.')
})

test('a refresh token that arrives with an access token that cannot be used is kept', async () => {
  const brief = await exchanged('brief-rotated', async () => ({
    ...{ secret: 'token', lifetimeMs: 10, rotated: 'next' },
  }))
  expect(brief.row).toMatchObject({ secret: null, rotated: { text: 'next' } })
  const { row } = await exchanged('refused-rotated', () =>
    Promise.reject(new MintError('No header can carry the token.', { rotated: 'next' })),
  )
  expect(row).toMatchObject({ secret: null, rotated: { text: 'next' } })
})

/** The database of a replica whose writes fail after the claim, so many times. */
function failing(times: number): Db {
  let calls = 0
  const tx: Db['tx'] = (work) => {
    calls += 1
    return calls > 1 && calls <= 1 + times ? Promise.reject(new Error('the database is away')) : db.tx(work)
  }
  return Object.create(db, { tx: { value: tx } }) as Db
}

test('a refresh token that the source replaced is stored after the database was away', async () => {
  let exchanges = 0
  const mint: Mint = async () => {
    exchanges += 1
    return { secret: 'token', lifetimeMs: 3_600_000, rotated: `next-${exchanges}` }
  }
  const { row } = await exchanged('away', mint, { db: failing(2) })
  expect(row).toMatchObject({ secret: { text: 'token' }, rotated: { text: 'next-1' }, serial: 1 })
  expect(exchanges).toBe(1)
})

test('a refresh token of an answer that cannot be used is stored after the database was away', async () => {
  let exchanges = 0
  const mint: Mint = () => {
    exchanges += 1
    return Promise.reject(new MintError('The source refused.', { rotated: `next-${exchanges}` }))
  }
  const { row } = await exchanged('away-refused', mint, { db: failing(1) })
  expect(row).toMatchObject({ secret: null, rotated: { text: 'next-1' }, error: 'The source refused.' })
})

test('a stored secret that cannot be decrypted is a failure of its own Connector, which backs off', async () => {
  let exchanges = 0
  const open = () => {
    throw new Error('canary of a decryption')
  }
  const mint = async () => {
    exchanges += 1
    return minted(60_000)()
  }
  const { row, changes } = await exchanged('unreadable', mint, { open, failures: 2 })
  expect(row.error).toContain('cannot be decrypted with the master key of this installation')
  expect(row.error).not.toContain('canary')
  expect(changes).toEqual(['credential.failed'])
  expect(exchanges).toBe(0)
})
