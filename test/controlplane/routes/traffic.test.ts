import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { getOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { insertTraffic } from '../../../controlplane/features/traffic/store.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { at, type Call, register, startControlPlane, type TestControlPlane } from './start.ts'

let server: TestPostgres
let plane: TestControlPlane
let db: Db
let user: Call
const start = Date.now() - 3_600_000

beforeAll(async () => {
  server = await workerPostgres()
  const database = await server.createMigratedDatabase()
  plane = await startControlPlane(database)
  db = await openDb({ url: database.url, log: pino({ level: 'silent' }) })
  await insertTraffic(
    db,
    (await getOrg(db)).id,
    Array.from({ length: 25 }, (_, n) => record(n)),
  )
  await register(plane.call, 'owner@example.com')
  user = await plane.signIn('owner@example.com')
})

afterAll(async () => {
  await db?.close()
  await plane?.close()
  await server?.stop()
})

describe('traffic', () => {
  test('is paged through newest first, each record once, also while new ones arrive', async () => {
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const path: string = `/api/dashboard/traffic?limit=10${cursor === null ? '' : `&cursor=${cursor}`}`
      const { body } = await user('GET', path)
      seen.push(...at<{ id: string }[]>(body, 'traffic').map((row) => row.id))
      cursor = at<string | null>(body, 'next_cursor')
      await insertTraffic(db, (await getOrg(db)).id, [
        { ...record(0), id: `late${seen.length}`, time: new Date().toISOString() },
      ])
    } while (cursor !== null)
    // Five records share one millisecond: the id orders them.
    expect(seen).toEqual(Array.from({ length: 25 }, (_, n) => idOf(24 - n)))
  })

  test.each([
    ['agent=odd', 12],
    ['agent=odd&decision=DENY', 4],
    ['decision=deny', 9],
    ['action_type=codehost.issue.create', 25],
    ['connector=payments', 0],
    ['q=REPOS/O/R3', 1],
    ['q=100%25', 0],
  ])('is filtered by %s', async (query, count) => {
    const { body } = await user(
      'GET',
      `/api/dashboard/traffic?limit=500&to=${new Date(start + 60_000).toISOString()}&${query}`,
    )
    expect(at<unknown[]>(body, 'traffic')).toHaveLength(count)
  })

  test('lists all candidates of a request whose action could not be determined', async () => {
    const candidates = ['codehost.unmapped.post', 'codehost.pr.close', 'codehost.pr.update']
    const known = { ...record(0), id: 'rec_open', time: new Date().toISOString(), candidates }
    await insertTraffic(db, (await getOrg(db)).id, [known])
    const { body } = await user('GET', '/api/dashboard/traffic?limit=1')
    expect(at<unknown[]>(body, 'traffic')).toMatchObject([{ id: 'rec_open', candidates }])
    const one = await user('GET', '/api/dashboard/traffic/rec_open')
    expect(at(one.body, 'record')).toMatchObject({ id: 'rec_open', candidates })
  })

  test.each([
    ['limit=0', 'limit'],
    ['limit=501', 'limit'],
    ['limit=x', 'limit'],
    ['cursor=bm9uc2Vuc2U', 'cursor'],
    ['from=yesterday', 'from'],
    ['colour=red', 'colour'],
    ['agent=a&agent=b', 'agent'],
  ])('refuses %s', async (query, field) => {
    const answer = await user('GET', `/api/dashboard/traffic?${query}`)
    expect(answer.status).toBe(400)
    expect(at(answer.body, 'details')).toMatch(new RegExp(`^${field}: `))
  })
})

function idOf(n: number): string {
  return `rec_${String(n).padStart(3, '0')}`
}

function record(n: number): TrafficRecord {
  return {
    id: idOf(n),
    process_id: 'proc_1',
    seq: n,
    time: new Date(start + Math.floor(n / 5)).toISOString(),
    gateway: 'default/local',
    agent: n % 2 === 0 ? 'even' : 'odd',
    connector: 'codehost',
    action_type: 'codehost.issue.create',
    decision: n % 3 === 0 ? 'DENY' : 'ALLOW',
    would: null,
    note: null,
    reason: null,
    approval_id: null,
    act_id: null,
    method: 'POST',
    host: 'api.example.com',
    path: n === 3 ? '/repos/o/r3/issues' : '/repos/o/r/issues',
    status: 201,
    error_type: null,
    latency_ms: 1,
    overhead_ms: 1,
    bytes_in: 1,
    bytes_out: 1,
    permission: null,
    policies: [],
    snapshot_version: 1,
    transport: 'connect',
  }
}
