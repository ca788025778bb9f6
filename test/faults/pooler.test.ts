import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { installationChecks } from '../../controlplane/cli/doctor/installation-checks.ts'
import { openDb } from '../../controlplane/db/open.ts'
import type { Db } from '../../controlplane/db/query.ts'
import { openStream, person, type Replica, startWorld, type World } from '../controlplane/sync/harness.ts'
import { startControlPlaneProcess } from '../support/control-plane-process.ts'
import { eventually } from '../support/eventually.ts'
import { hasCommand } from '../support/has-command.ts'
import { PGBOUNCER_PATH, type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'

const log = pino({ level: 'silent' })
const MAX = 5
const admin = person({ role: 'admin', email: 'root@example.com' })

describe.skipIf(!hasCommand('pgbouncer', PGBOUNCER_PATH))('behind PgBouncer in transaction mode', () => {
  let world: World
  let relay: TcpRelay
  let bouncer: PgBouncer
  const opened: AsyncDisposable[] = []

  beforeAll(async () => {
    world = await startWorld()
    relay = await startTcpRelay(world.database.url)
    bouncer = await startPgBouncer(relay.url)
  })
  afterEach(async () => {
    for (const each of opened.splice(0)) await each[Symbol.asyncDispose]()
  })
  afterAll(async () => {
    await bouncer?.[Symbol.asyncDispose]()
    await relay?.[Symbol.asyncDispose]()
    await world?.stop()
  })

  async function open(given: { listenUrl?: string; hangMs?: number } = {}): Promise<Db> {
    const db = await openDb({ url: bouncer.url, preparesStatements: false, max: MAX, log, ...given })
    opened.push({ [Symbol.asyncDispose]: () => db.close() })
    return db
  }
  async function replica(): Promise<Replica> {
    const made = await world.replica({ databaseUrl: bouncer.url, preparesStatements: false })
    opened.push({ [Symbol.asyncDispose]: () => made.stop() })
    return made
  }
  const many = (db: Db, count = MAX * 2) =>
    Promise.all(Array.from({ length: count }, () => db.query('select $1::int as n, pg_sleep(0.02)', [1])))

  test('statements with values, transactions and their limits work', async () => {
    const db = await open()
    await many(db)
    const limits = await db.tx(async (q) => {
      await q.query('create temporary table kept (n int) on commit drop')
      await q.query('insert into kept values ($1)', [7])
      const { rows } = await q.query<{ n: number; limit: string }>(
        "select n, current_setting('statement_timeout') as limit from kept",
        [],
      )
      return rows
    })
    expect(limits).toEqual([{ n: 7, limit: '1min' }])
  })

  test('a statement that is only slow is not cancelled', async () => {
    const db = await open({ hangMs: 200 })
    const { rows } = await db.query<{ said: string }>('select pg_sleep(1.2), $1::text as said', ['done'])
    expect(rows[0]?.said).toBe('done')
  })

  test('a kill switch of one replica reaches the streams of another one without notifications', async () => {
    const [a, b] = [await replica(), await replica()]
    expect([a.db.isPolling, b.db.isPolling]).toEqual([true, true])
    const gateway = await a.enrol('default/local')
    const stream = await openStream(b, gateway, { acks: true })
    await stream.next('sections')
    const set = await a.user(admin, 'POST', '/api/dashboard/kill-switch', {
      active: true,
      scope: 'all',
      reason: 'x',
    })
    expect(set.status).toBe(200)
    await eventually('the kill switch at the other replica', () =>
      b.hub.kill.effective().length > 0 ? true : null,
    )
    await stream.next('kill', (message) => JSON.stringify(message).includes('"all"'))
    stream.close()
    await a.user(admin, 'POST', '/api/dashboard/kill-switch', { active: false, scope: 'all' })
  })

  test('a session is refused with the remedy, and works over a direct connection, as notifications do', async () => {
    const polling = await open()
    await expect(polling.session(async () => undefined)).rejects.toThrow('set DATABASE_LISTEN_URL')
    const db = await open({ listenUrl: world.database.url })
    expect(db.isPolling).toBe(false)
    const { rows } = await db.session((q) => q.query('select pg_try_advisory_lock(1) as taken', []))
    expect(rows).toEqual([{ taken: true }])
    const heard: string[] = []
    await using _listening = await db.listen('of_the_pooler', (payload) => heard.push(payload))
    await db.query('select pg_notify($1, $2)', ['of_the_pooler', 'here'])
    await eventually('the notification', () => (heard.includes('here') ? true : null))
  })

  test('the control plane starts, and doctor names the setting for notifications', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chaperone-pooler-'))
    writeFileSync(join(folder, 'admin.token'), 'admin-token-of-the-tests-1234567890', { mode: 0o600 })
    const plane = await startControlPlaneProcess({
      ...{
        DATABASE_URL: bouncer.url,
        DATABASE_PREPARE: 'off',
        MASTER_KEY: '7'.repeat(64),
        LOG_LEVEL: 'warn',
      },
      ADMIN_TOKEN_FILE: join(folder, 'admin.token'),
    })
    try {
      const send = async (method: string, path: string) => {
        const headers = { authorization: 'Bearer admin-token-of-the-tests-1234567890' }
        const answer = await fetch(plane.url + path, { method, headers })
        return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
      }
      const checks = await installationChecks({ send } as never)
      expect(checks).toEqual([
        {
          ...{ name: 'installation', state: 'warning' },
          found: expect.stringMatching(
            /connection pooler, so each replica polls .* Set DATABASE_LISTEN_URL to the address of PostgreSQL itself\.$/,
          ),
        },
        {
          ...{ name: 'notifications', state: 'ok' },
          found: 'no channel is configured, so approvers see held requests only on the page Approvals',
        },
      ])
      await eventually('the log names the setting', () =>
        plane.log().includes('set DATABASE_LISTEN_URL') ? true : null,
      )
    } finally {
      await plane.stop()
      rmSync(folder, { recursive: true })
    }
  })

  test('a failover that drops packets behind the pooler ends with connections that work', async () => {
    const db = await open({ hangMs: 200 })
    await many(db)
    relay.swallow({ onlyOpen: true })
    await eventually('all connections answer', () =>
      many(db).then(
        () => true,
        () => null,
      ),
    )
  })
})
