import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createBatcher } from '../../../controlplane/batcher.ts'
import { unlessUnavailable } from '../../../controlplane/db/connection/unavailable.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { insertNonce } from '../../../controlplane/features/actions/tokens/nonce-store.ts'
import { createTokens, type Tokens } from '../../../controlplane/features/actions/tokens/service.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let postgres: TestPostgres
let db: Db

beforeAll(async () => {
  postgres = await workerPostgres()
  db = await openDb({ url: (await postgres.createMigratedDatabase()).url, log: pino({ level: 'silent' }) })
  await migrate(db)
})
afterAll(async () => {
  await db?.close()
  await postgres?.stop()
})

const failure = (code: string) => unlessUnavailable(Object.assign(new Error(`it was ${code}`), { code }))

/** The database as a server that restarts shows it: statements with these numbers are done, and nobody hears of it. */
function losing(...answers: readonly number[]): { readonly tokens: Tokens; asked(): number } {
  let asked = 0
  const query: Db['query'] = async (text, values) => {
    const number = ++asked
    const result = await db.query(text, values)
    if (answers.includes(number)) throw failure('ECONNRESET')
    return result as never
  }
  return { tokens: tokensOn({ ...db, query }), asked: () => asked }
}

const tokensOn = (on: Db) => createTokens({ db: on, keys: undefined as never })

let made = 0
async function issued(count: number) {
  const list = Array.from({ length: count }, () => {
    const id = String(++made).padStart(6, '0')
    return { jti: `jti-${id}`, actId: `act-${id}`, usedBy: 'verify' as const }
  })
  for (const { jti, actId } of list) await insertNonce(db, { jti, actId, kid: 'k' })
  return list
}

test.each([
  ['one token', 1],
  ['forty tokens that are used at once', 40],
])(
  'a use of %s that the database did and could not say so is still a success, once',
  async (_what, count) => {
    const list = await issued(count)
    const { tokens } = losing(1)
    expect(new Set(await Promise.all(list.map(tokens.spend)))).toEqual(new Set(['spent']))
    expect(new Set(await Promise.all(list.map(tokens.spend)))).toEqual(new Set(['used']))
  },
)

test('of many uses of one token one is a success though the answers of several statements are lost', async () => {
  const [one] = await issued(1)
  if (one === undefined) throw new Error('no token')
  const { tokens } = losing(1, 2, 4)
  const other = losing(1, 3).tokens
  const uses = Array.from({ length: 32 }, (_, index) => (index % 2 === 0 ? tokens : other).spend(one))
  const outcomes = await Promise.all(uses)
  expect(outcomes.filter((outcome) => outcome === 'spent')).toHaveLength(1)
  expect(outcomes.filter((outcome) => outcome === 'used')).toHaveLength(31)
})

test('where used tokens are among them, a lost second query costs the others nothing', async () => {
  const [used, ...fresh] = await issued(8)
  if (used === undefined) throw new Error('no token')
  await tokensOn(db).spend(used)
  // The first statement takes, the second looks at what it did not take.
  const { tokens } = losing(2)
  const outcomes = await Promise.all([used, ...fresh].map(tokens.spend))
  expect(outcomes).toEqual(['used', ...fresh.map(() => 'spent')])
})

test('a database that cannot be reached is said at once, and the token is as good as before', async () => {
  const [one] = await issued(1)
  if (one === undefined) throw new Error('no token')
  let asked = 0
  const away = tokensOn({
    ...db,
    query: () => {
      asked++
      return Promise.reject(failure('ECONNREFUSED'))
    },
  })
  await expect(away.spend(one)).rejects.toMatchObject({ code: 'not_ready' })
  expect(asked).toBe(1)
  expect(await tokensOn(db).spend(one)).toBe('spent')
})

test('what one run of many did is not done again for each when the database went away', async () => {
  const runs: number[] = []
  const batched = createBatcher<number, number>(
    (items) => {
      runs.push(items.length)
      return Promise.reject(failure('57P01'))
    },
    { max: 10, atOnce: 1 },
  )
  const all = await Promise.allSettled([1, 2, 3].map(batched))
  expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(runs).toEqual([3])
})
