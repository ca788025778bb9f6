import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type IssuedKey, issueAgentKey } from '../../../controlplane/crypto/tokens.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { createAgentKeyUse, type KeyUse } from '../../../controlplane/features/agents/key-use.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let postgres: TestPostgres
let here: Db
let there: Db

beforeAll(async () => {
  postgres = await workerPostgres()
  const database = await postgres.createMigratedDatabase()
  const log = pino({ level: 'silent' })
  here = await openDb({ url: database.url, log })
  there = await openDb({ url: database.url, log })
  await migrate(here)
  await here.tx((q) => ensureOrg(q))
})
afterAll(async () => {
  await here?.close()
  await there?.close()
  await postgres?.stop()
})

let made = 0

async function agent(status = 'active'): Promise<IssuedKey & { readonly id: string }> {
  made += 1
  const issued = issueAgentKey('development')
  const id = `agent_${made}`
  await here.query(
    `insert into agents (id, org_id, name, status, api_key_prefix, api_key_sha256)
     select $1, id, $1, $2, $3, $4 from orgs`,
    [id, status, issued.prefix, issued.sha256],
  )
  return { ...issued, id }
}

function times<T>(count: number, work: () => T): T[] {
  return Array.from({ length: count }, work)
}

const admitted = (uses: ReadonlyArray<KeyUse | null>) => uses.filter((use) => use?.isAdmitted === true).length

test('requests that share one look-up are answered each for itself: whose key it is, and whether it fits', async () => {
  const [one, two, gone] = [await agent(), await agent(), await agent('suspended')]
  const use = createAgentKeyUse(here)
  const strange = `${one.key.slice(0, 20)}${'x'.repeat(21)}`
  const [ofOne, ofTwo, ofGone, ofStrange] = await Promise.all([
    Promise.all(times(70, () => use(one.key))),
    Promise.all(times(5, () => use(two.key))),
    use(gone.key),
    use(strange),
  ])
  expect(ofOne.map((answer) => answer?.isAdmitted)).toEqual([
    ...times(60, () => true),
    ...times(10, () => false),
  ])
  expect(ofOne.every((answer) => answer?.agent.id === one.id)).toBe(true)
  expect(ofOne.at(-1)?.retryAfterS).toBeGreaterThanOrEqual(59)
  expect(ofTwo.map((answer) => [answer?.agent.id, answer?.isAdmitted])).toEqual(
    times(5, () => [two.id, true]),
  )
  expect([ofGone, ofStrange]).toEqual([null, null])
})

test('replicas that count many agents at once admit exactly 60 requests of each, and none blocks another', async () => {
  const agents = await Promise.all(times(30, () => agent()))
  const uses = [createAgentKeyUse(here), createAgentKeyUse(there)]
  const answers = await Promise.all(
    agents.map(({ key }) =>
      Promise.all(times(90, () => key).map((shown, i) => uses[i % 2]?.(shown) ?? null)),
    ),
  )
  expect(answers.map(admitted)).toEqual(times(30, () => 60))
})

test('a request fits again when the oldest is a minute old, and what was refused is not counted', async () => {
  const { key, id } = await agent()
  const use = createAgentKeyUse(here)
  await Promise.all(times(100, () => use(key)))
  await here.query(
    `update agent_windows set hits = array(select case when place <= 3 then h - interval '1 minute' else h end
       from unnest(hits) with ordinality as all_hits(h, place) order by place) where agent_id = $1`,
    [id],
  )
  expect(admitted(await Promise.all(times(10, () => use(key))))).toBe(3)
  const { rows } = await here.query<{ n: number }>(
    'select cardinality(hits) as n from agent_windows where agent_id = $1',
    [id],
  )
  expect(rows[0]?.n).toBe(60)
})

test('an agent that is suspended between two requests is not authenticated for the second', async () => {
  const { key, id } = await agent()
  const use = createAgentKeyUse(here)
  expect((await use(key))?.isAdmitted).toBe(true)
  await there.query("update agents set status = 'suspended' where id = $1", [id])
  expect(await use(key)).toBeNull()
})
