import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { MAINTENANCE_SECRET, startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, caller, register } from '../routes/start.ts'

let here: TestInstallation
let org: string

beforeAll(async () => {
  here = await startTestInstallation()
  org = String((await here.sql('select id from orgs'))[0]?.['id'])
})
afterAll(() => here?.[Symbol.asyncDispose]())

const cleanup = () => here.maintenance('POST', '/api/maintenance/cleanup')
const count = async (table: string, where = 'true') =>
  Number((await here.sql(`select count(*) as n from ${table} where ${where}`))[0]?.['n'])

describe('the cleanup', () => {
  test('needs the maintenance secret, and refuses every secret when none is configured', async () => {
    expect((await here.plane.call('POST', '/api/maintenance/cleanup')).status).toBe(401)
    expect((await here.admin('POST', '/api/maintenance/cleanup')).status).toBe(401)
    const wrong = caller(here.plane.url, { authorization: 'Bearer wrong' })
    expect((await wrong('POST', '/api/maintenance/cleanup')).status).toBe(401)
    const without = await here.another({ MAINTENANCE_SECRET: '' })
    for (const token of [MAINTENANCE_SECRET, 'undefined', 'null', '']) {
      const call = caller(without.url, { authorization: `Bearer ${token}` })
      expect((await call('POST', '/api/maintenance/cleanup')).status).toBe(401)
      expect((await call('GET', '/api/metrics')).status).toBe(401)
    }
  })

  test('removes exactly what is too old, by the clock of the database, and says how much', async () => {
    await register(here.plane.call, 'one@example.com')
    await here.plane.signIn('one@example.com')
    await here.plane.signIn('one@example.com')
    await here.plane.signIn('one@example.com')
    const [idle, over] = (await here.sql('select id_hash from sessions')).map((row) => row['id_hash'])
    await here.sql(`update sessions set seen_at = now() - interval '12 hours 1 second' where id_hash = $1`, [
      idle,
    ])
    await here.sql(`update sessions set expires_at = now() - interval '1 second' where id_hash = $1`, [over])
    await here.sql(`insert into nonces (jti, act_id, kid, issued_at, expires_at, used_at, used_by) values
      ('fresh', 'a1', 'k', now(), now() + interval '1 minute', null, null),
      ('late', 'a2', 'k', now(), now() - interval '1 second', null, null),
      ('used', 'a3', 'k', now(), now() - interval '23 hours', now() - interval '23 hours 59 minutes', 'verify'),
      ('old', 'a4', 'k', now(), now() - interval '24 hours', now() - interval '24 hours 1 minute', 'execute')`)
    await here.sql(
      `insert into audit_events (event_type, org_id, created_at, details) values
         ('user.login', $1, now() - interval '365 days 1 minute', '{"age": "old"}'),
         ('user.login', $1, now() - interval '364 days 23 hours', '{"age": "kept"}')`,
      [org],
    )
    await here.sql(
      `insert into idempotency_keys (org_id, agent_id, key, body_sha256, reply, created_at) values
         ($1, 'a', 'old', '', '{}', now() - interval '25 hours'), ($1, 'a', 'new', '', '{}', now())`,
      [org],
    )
    const answer = await cleanup()
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      status: 'ok',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      cleaned: { expired_nonces: 1, expired_sessions: 2, used_nonces_cleaned: 1, old_audit_events: 1 },
      also_cleaned: { idempotency_keys: 1 },
    })
    expect((await here.sql('select jti from nonces order by jti')).map(({ jti }) => jti)).toEqual([
      'fresh',
      'used',
    ])
    expect(await count('sessions')).toBe(1)
    expect(await count('audit_events', `details->>'age' = 'kept'`)).toBe(1)
    expect(await count('audit_events', `details->>'age' = 'old'`)).toBe(0)
    const purges = await here.sql(`select details from audit_events where event_type = 'audit.purged'`)
    expect(purges).toEqual([
      {
        details: {
          ...{ events: 1, retention_days: 365, by: 'maintenance', before: expect.any(String) },
          actor: { kind: 'system', name: 'maintenance' },
        },
      },
    ])
    expect(at((await cleanup()).body, 'cleaned')).toEqual({
      expired_nonces: 0,
      expired_sessions: 0,
      used_nonces_cleaned: 0,
      old_audit_events: 0,
    })
    expect(await count('audit_events', `event_type = 'audit.purged'`)).toBe(1)
    await here.sql(`delete from audit_events where details->>'age' = 'kept'`)
  })

  test.each([
    ['Starter', 30],
    ['Pro', 90],
    ['Team', 365],
  ])('keeps the audit log of the plan %s for %i days', async (plan, days) => {
    await here.sql('update orgs set plan = $1', [plan])
    await oldEvents(days)
    expect(at((await cleanup()).body, 'cleaned', 'old_audit_events')).toBe(1)
    expect(await count('audit_events', `details->>'days' = '${days}'`)).toBe(1)
    await here.sql(`update orgs set plan = 'Enterprise'`)
  })

  test('keeps everything where the plan Enterprise has no limit, and AUDIT_RETENTION_DAYS wins over any plan', async () => {
    await here.sql('update orgs set audit_retention_days = null')
    await oldEvents(4_000)
    expect(at((await cleanup()).body, 'cleaned', 'old_audit_events')).toBe(0)
    const strict = await here.another({ AUDIT_RETENTION_DAYS: '4000' })
    const call = caller(strict.url, { authorization: `Bearer ${MAINTENANCE_SECRET}` })
    expect(at((await call('POST', '/api/maintenance/cleanup')).body, 'cleaned', 'old_audit_events')).toBe(1)
    await here.sql('update orgs set audit_retention_days = 365')
    await cleanup()
  })

  test('continues when a part fails: -1 for the failed part, the others are complete', async () => {
    await here.sql('alter table nonces rename to nonces_away')
    await here.sql(
      `insert into idempotency_keys (org_id, agent_id, key, body_sha256, reply, created_at)
       values ($1, 'a', 'older', '', '{}', now() - interval '25 hours')`,
      [org],
    )
    await oldEvents(365)
    const { status, body } = await cleanup()
    await here.sql('alter table nonces_away rename to nonces')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'partial',
      cleaned: { expired_nonces: -1, expired_sessions: 0, used_nonces_cleaned: -1, old_audit_events: 1 },
      also_cleaned: { idempotency_keys: 1 },
    })
    expect(here.plane.log()).toContain('a part of the cleanup failed')
  })

  test('runs one at a time over two replicas, and all callers are answered', async () => {
    const second = await here.another()
    const other = caller(second.url, { authorization: `Bearer ${MAINTENANCE_SECRET}` })
    const blocker = new pg.Client({ connectionString: here.database.adminUrl })
    await blocker.connect()
    await blocker.query('begin; select pg_advisory_xact_lock(7245118020)')
    const runs = [...Array(12)].map((_, n) =>
      (n % 2 ? other : here.maintenance)('POST', '/api/maintenance/cleanup'),
    )
    // Nobody works while the lock is held, and waiting for it does not use up the connections of other requests.
    expect((await here.admin('GET', '/api/dashboard/agents')).status).toBe(200)
    expect(
      await count('pg_locks', `locktype = 'advisory' and granted and objid = (7245118020 & 4294967295)::oid`),
    ).toBe(1)
    await blocker.query('commit')
    await blocker.end()
    expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(Array(12).fill(200))
  })

  test('drops traffic of days more than a week ago, and the number of all actions stays', async () => {
    await here.sql(
      `select ensure_traffic_days(array(select (now() at time zone 'utc')::date - n from generate_series(0, 8) n))`,
    )
    const insert = `insert into traffic (id, time, seq, process_id, org_id, gateway, decision, method, latency_ms,
        overhead_ms, bytes_in, bytes_out, transport)
      select 'rec_' || n, now() - make_interval(days => n), n, 'proc_1', $1, 'default/local', 'ALLOW', 'GET', 1, 1, 0, 0, 'connect'
      from generate_series(0, 20) n`
    await here.sql(insert, [org])
    const before = (await metrics()).svc_actions_total
    expect(before).toBe(21)
    const { body } = await cleanup()
    expect(at(body, 'also_cleaned', 'old_traffic')).toBe(13)
    expect((await here.sql('select id from traffic order by seq')).map(({ id }) => id)).toEqual(
      [...Array(8).keys()].map((n) => `rec_${n}`),
    )
    const parts = await here.sql(`select relname from pg_class where relname ~ '^traffic_[0-9]{8}$'`)
    expect(parts.length).toBeLessThanOrEqual(9)
    expect((await metrics()).svc_actions_total).toBe(21)
  })

  test('removes actions and approvals after the time of the audit log, in batches, and nothing that is still needed', async () => {
    const total = (await metrics()).svc_actions_total
    const action = `insert into action_requests (id, org_id, agent_id, agent, status, action_spec, decision, connector,
        approval_id, created_at)
      select id, $1, 'agent_x', 'x', status, '{"type":"a.b"}', '{}', 'codehost', approval, now() - age`
    await here.sql(
      `${action} from (values
         ('act_gone_denied', 'denied', null, interval '366 days'),
         ('act_gone_approved', 'executed', 'apr_gone', interval '366 days'),
         ('act_gone_allowed', 'allowed', null, interval '366 days'),
         ('act_young', 'denied', null, interval '364 days'),
         ('act_undecided', 'pending_approval', 'apr_undecided', interval '366 days'),
         ('act_token', 'allowed', null, interval '366 days'),
         ('act_open', 'allowed', null, interval '366 days'),
         ('act_recent', 'executed', 'apr_kept', interval '10 days')) as l(id, status, approval, age)`,
      [org],
    )
    await here.sql(
      `${action} from (select 'act_many_' || n as id, 'denied' as status, null as approval,
        interval '400 days' as age from generate_series(1, 5001) n) as l`,
      [org],
    )
    await here.sql(`insert into nonces (jti, act_id, kid, issued_at, expires_at, used_at, used_by) values
      ('live', 'act_token', 'k', now(), now() + interval '1 minute', null, null),
      ('open', 'act_open', 'k', now(), now() - interval '2 days', now() - interval '2 days', 'execute')`)
    await here.sql(`insert into executions (order_id, act_id) values ('ord_open', 'act_open')`)
    await here.sql(
      `insert into approvals (id, org_id, kind, status, agent, act_id, card, expires_at, responded_at)
       select id, $1, kind, status, 'x', act, '{"action_type":"a.b"}', now() - interval '1 day', at
       from (values
         ('apr_gone', 'action', 'approved', 'act_gone_approved', now() - interval '366 days'),
         ('apv_gone', 'hold', 'expired', null, now() - interval '366 days'),
         ('apr_kept', 'action', 'approved', 'act_recent', now() - interval '366 days'),
         ('apv_kept', 'hold', 'denied', null, now() - interval '364 days'),
         ('apr_undecided', 'action', 'pending', 'act_undecided', null)) as l(id, kind, status, act, at)`,
      [org],
    )
    await here.sql(`insert into execution_results (order_id, result, created_at) values
      ('ord_old', '{}', now() - interval '6 minutes'), ('ord_new', '{}', now())`)
    await here.sql(
      `insert into gateways (id, org_id, name, spec) values ('gw_grants', '${org}', 'default/grants', '{}')`,
    )
    await here.sql(
      `insert into permission_grants (id, org_id, approval_id, gateway_id, agent, agent_id, action_type, any_target,
         parameters, exact, held_by, answers, max_uses, created_by, expires_at)
       select id, $1, 'apv_x', 'gw_grants', 'x', 'agent_x', 'a.b', true, '{}', false, '{}', '[]', 1, 'x', now() - age
       from (values ('grt_gone', interval '31 days'), ('grt_kept', interval '29 days')) as l(id, age)`,
      [org],
    )
    // The upkeep must not end this one meanwhile: it is somebody else's for as long as the row is locked.
    const holder = new pg.Client({ connectionString: here.database.adminUrl })
    await holder.connect()
    await holder.query(`begin; select 1 from executions where order_id = 'ord_open' for update`)
    const { body } = await cleanup()
    await holder.query('rollback')
    await holder.end()
    expect(body).toMatchObject({
      status: 'ok',
      also_cleaned: { old_actions: 5_004, old_approvals: 2, ended_grants: 1, stale_orders: 1 },
    })
    expect((await here.sql('select id from action_requests order by id')).map(({ id }) => id)).toEqual([
      'act_open',
      'act_recent',
      'act_token',
      'act_undecided',
      'act_young',
    ])
    const left = await here.sql(`select id from approvals order by id`)
    expect(left.map(({ id }) => id)).toEqual(['apr_kept', 'apr_undecided', 'apv_kept'])
    expect(await count('nonces', `jti in ('live', 'open')`)).toBe(2)
    expect((await metrics()).svc_actions_total).toBe(Number(total) + 5_009)
    await here.sql(`delete from executions; delete from action_requests; delete from approvals;
      delete from nonces where jti in ('live', 'open'); update maintenance set actions_purged = 0`)
  })

  test('ran by itself when the last one was a day ago', async () => {
    const { createRetention } = await import('../../../controlplane/features/maintenance/service.ts')
    const { openDb } = await import('../../../controlplane/db/open.ts')
    const { pino } = await import('pino')
    const log = pino({ level: 'silent' })
    const db = await openDb({ url: here.database.url, log })
    const retention = createRetention({ db, orgId: org, log, auditRetentionDays: null })
    expect(await retention.runWhenDue()).toBeNull()
    await here.sql(`update maintenance set last_cleanup_at = now() - interval '24 hours 1 second'`)
    const [first, second] = await Promise.all([retention.runWhenDue(), retention.runWhenDue()])
    expect([first?.status, second?.status]).toContain('ok')
    expect(await retention.runWhenDue()).toBeNull()
    await db.close()
  })
})

async function oldEvents(days: number): Promise<void> {
  await here.sql(
    `insert into audit_events (event_type, org_id, created_at, details)
     select 'user.login', $1, now() - make_interval(days => $2) + make_interval(hours => n), jsonb_build_object('days', $2)
     from unnest(array[-1, 1]) n`,
    [org, days],
  )
}

async function metrics(): Promise<Record<string, number>> {
  const { text } = await here.maintenance('GET', '/api/metrics')
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(samples.map((line) => [line.split(' ')[0], Number(line.split(' ')[1])]))
}

describe('the metrics', () => {
  test('need the maintenance secret and are plain text with types', async () => {
    expect((await here.plane.call('GET', '/api/metrics')).status).toBe(401)
    expect((await here.admin('GET', '/api/metrics')).status).toBe(401)
    const { headers, text } = await here.maintenance('GET', '/api/metrics')
    expect(headers.get('content-type')).toMatch(/^text\/plain/)
    expect(headers.get('x-service-version')).toMatch(/^\d+\.\d+\.\d+$/)
    expect(text).toContain('# TYPE svc_actions_total counter\n')
    expect(text).toContain('# TYPE svc_processes_active gauge\n')
    expect(text.endsWith('\n')).toBe(true)
  })

  test('count actions of v1 and of gateways from the database, with every outcome', async () => {
    const before = await metrics()
    await here.sql(
      `insert into action_requests (id, org_id, agent_id, agent, status, action_spec, decision, connector, created_at)
       select 'act_' || n, $1, 'agent_x', 'x', 'denied', '{}', json_build_object('outcome', outcome), 'codehost', now() - age
       from unnest(array['allow', 'deny', 'deny', 'requires_approval'],
         array['1 minute', '1 minute', '2 hours', '25 hours']::interval[]) with ordinality as l(outcome, age, n)`,
      [org],
    )
    await here.sql(
      `insert into traffic (id, time, seq, process_id, org_id, gateway, decision, method, latency_ms, overhead_ms,
         bytes_in, bytes_out, transport)
       select 'rec_m' || n, now() - interval '1 minute', n, 'proc_2', $1, 'g', decision, 'GET', 1, 1, 0, 0, 'connect'
       from unnest(array['ALLOW', 'HOLD', 'HOLD', 'DENY']) with ordinality as l(decision, n)`,
      [org],
    )
    const after = await metrics()
    const rise = (name: string) => (after[name] ?? Number.NaN) - (before[name] ?? Number.NaN)
    expect(rise('svc_actions_total')).toBe(8)
    expect(rise('svc_actions_last_hour')).toBe(6)
    expect(rise('svc_decisions_24h{outcome="allow"}')).toBe(2)
    expect(rise('svc_decisions_24h{outcome="deny"}')).toBe(3)
    expect(rise('svc_decisions_24h{outcome="requires_approval"}')).toBe(2)
    expect(after['svc_processes_active']).toBe(0)
  })

  test('count the gateway processes that are connected', async () => {
    const stop = new AbortController()
    const stream = await fetch(`${here.plane.url}/api/gateway/stream`, {
      headers: {
        ...{ authorization: 'Bearer enrolment-token-of-the-local-gateway', 'x-process-id': 'proc_test' },
        'x-gateway-version': '0.0.9',
      },
      signal: stop.signal,
    })
    expect(stream.status).toBe(200)
    await eventually('the process is counted', async () =>
      (await metrics())['svc_processes_active'] === 1 ? true : null,
    )
    const { 'svc_gateway_processes{version="older"}': older, 'svc_gateway_processes{version="same"}': same } =
      await metrics()
    expect({ older, same }).toEqual({ older: 1, same: 0 })
    stop.abort()
    await stream.text().catch(() => undefined)
    await eventually('its end is noticed', async () =>
      (await metrics())['svc_processes_active'] === 0 ? true : null,
    )
  })
})
