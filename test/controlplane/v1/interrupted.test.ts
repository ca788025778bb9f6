import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { endInterrupted } from '../../../controlplane/features/actions/executions/sweeper.ts'
import { createTestLog } from '../../sidecar/control/test-log.ts'
import { type ControlPlaneProcess, startControlPlaneProcess } from '../../support/control-plane-process.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestDatabase, TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { at, type Call, caller } from '../routes/start.ts'
import { openStream } from '../sync/harness.ts'
import { ALLOWED, bearer, ENROL_TOKEN } from './world.ts'

let postgres: TestPostgres
let database: TestDatabase
let folder: string
let pool: pg.Pool
let db: Db
const running: ControlPlaneProcess[] = []

beforeAll(async () => {
  postgres = await workerPostgres()
  database = await postgres.createMigratedDatabase()
  folder = await mkdtemp(join(tmpdir(), 'chaperone-interrupted-'))
  await writeFile(join(folder, 'enrol.token'), ENROL_TOKEN)
  await start()
  pool = new pg.Pool({ connectionString: database.adminUrl, max: 2 })
  // The database is dropped while its connections still end.
  pool.on('error', () => undefined)
  db = await openDb({ url: database.url, log: createTestLog() as never })
})
afterAll(async () => {
  for (const one of running) await one.stop()
  await db?.close()
  await pool?.end()
  await postgres?.stop()
  await rm(folder, { recursive: true, force: true })
})

async function start(): Promise<ControlPlaneProcess> {
  const plane = await startControlPlaneProcess({
    DATABASE_URL: database.url,
    MASTER_KEY: 'ab'.repeat(32),
    ADMIN_TOKEN_FILE: join(folder, 'admin.token'),
    LOCAL_GATEWAY_TOKEN_FILE: join(folder, 'enrol.token'),
  })
  running.push(plane)
  return plane
}

async function adminOf({ url }: Pick<ControlPlaneProcess, 'url'>): Promise<Call> {
  return caller(url, bearer((await readFile(join(folder, 'admin.token'), 'utf8')).trim()))
}

const sql = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows

/** An execution whose gateway has the order and does not answer, on a control plane that dies then. */
async function interrupted(): Promise<{ id: string; orderId: string }> {
  const plane = running[0] ?? (await start())
  running.splice(running.indexOf(plane), 1)
  const admin = await adminOf(plane)
  const gateway = { url: plane.url, gateway: async () => ({ status: 200, body: {} }) }
  const stream = await openStream(gateway, { id: '', name: 'default/local', token: ENROL_TOKEN })
  await stream.next('sections')
  await admin('POST', '/api/dashboard/connectors', { type: 'codehost', token: 'a-token' })
  const name = `agent-${Math.random().toString(36).slice(2)}`
  const made = await admin('POST', '/api/dashboard/agents', { name, runtime: 'x', environment: 'test' })
  const agent = caller(plane.url, bearer(at(made.body, 'api_key')))
  await admin('POST', '/api/dashboard/permissions', {
    gateway_name: 'default/local',
    connector_type: 'codehost',
    action_pattern: 'codehost.*',
    decision: 'allow',
  })
  const { body, text } = await agent('POST', '/api/v1/actions', { action_spec: ALLOWED })
  if (body['decision_token'] === null) throw new Error(text)
  const id = at(body, 'action_request_id')
  const answer = agent('POST', `/api/v1/actions/${id}/execute`, {
    decision_token: at(body, 'decision_token'),
  })
  const gone = expect(answer).rejects.toThrow()
  const order = await stream.next('execute')
  await plane.kill()
  await gone
  stream.close()
  return { id, orderId: order.order_id }
}

const eventsOf = (id: string) =>
  sql('select event_type as type, details from audit_events where action_request_id = $1 order by id', [id])
const statusOf = async (id: string) =>
  (await sql('select status from action_requests where id = $1', [id]))[0]

test('a control plane that is killed in the middle of an execution leaves a trace, and the next start ends it once', async () => {
  const { id, orderId } = await interrupted()
  expect(await statusOf(id)).toEqual({ status: 'allowed' })
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['action.requested', 'action.allowed'])
  // Not before its time: another replica might still be at it.
  expect(await endInterrupted(db)).toEqual([])
  await later(101)
  await Promise.all([start(), start()])
  await eventually('the execution is ended', async () =>
    (await statusOf(id))?.['status'] === 'execution_failed' ? true : null,
  )
  const events = await eventsOf(id)
  expect(events.map(({ type }) => type)).toEqual([
    'action.requested',
    'action.allowed',
    'action.execution_failed',
  ])
  expect(events[2]?.details).toEqual({
    action_type: 'codehost.issue.create',
    gateway_id: expect.stringMatching(/^gw_/),
    order_id: orderId,
    status: null,
    error:
      'the control plane stopped during the execution, so its result is unknown: check at the provider whether the action took effect',
  })
  expect(await sql('select 1 from executions')).toEqual([])
})

test('concurrent checks end it once, and the outcome is the one that the gateway reported to another replica', async () => {
  const [one, other] = [await interrupted(), await interrupted()]
  const result = {
    order_id: one.orderId,
    action_request_id: one.id,
    ok: true,
    status: 201,
    result: {},
    error: null,
  }
  await sql('insert into execution_results (order_id, result) values ($1, $2)', [one.orderId, result])
  await later(101)
  const ended = (await Promise.all(Array.from({ length: 8 }, () => endInterrupted(db)))).flat()
  expect(ended.map(({ actId }) => actId).sort()).toEqual([one.id, other.id].sort())
  expect([await statusOf(one.id), await statusOf(other.id)]).toEqual([
    { status: 'executed' },
    { status: 'execution_failed' },
  ])
  expect((await eventsOf(one.id)).map(({ type }) => type).slice(2)).toEqual(['action.executed'])
  expect((await eventsOf(other.id)).map(({ type }) => type).slice(2)).toEqual(['action.execution_failed'])
  expect(await endInterrupted(db)).toEqual([])
})

test('an attempt that never used the token is deleted, and a recent one stays', async () => {
  await sql(`insert into executions (order_id, act_id, started_at) values
    ('ord_unused', 'act_none', clock_timestamp() - interval '101 seconds'),
    ('ord_young', 'act_none', clock_timestamp() - interval '99 seconds')`)
  expect(await endInterrupted(db)).toEqual([])
  expect((await sql('select order_id from executions')).map((row) => row['order_id'])).toEqual(['ord_young'])
  await sql('delete from executions')
})

/** As if so many seconds had gone by at the database. */
async function later(seconds: number): Promise<void> {
  await sql('update executions set started_at = started_at - make_interval(secs => $1)', [seconds])
  await sql("update nonces set used_at = used_at - make_interval(secs => $1) where used_by = 'execute'", [
    seconds,
  ])
}
