import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDb } from '../../controlplane/db/open.ts'
import { getOrg } from '../../controlplane/db/orgs.ts'
import type { Db } from '../../controlplane/db/query.ts'
import { insertTraffic } from '../../controlplane/features/traffic/store.ts'
import type { TrafficRecord } from '../../core/record.ts'
import { ConnectorKindsReply } from '../../core/wire/connectors.ts'
import { ActivityReply, OverviewReply } from '../../core/wire/overview.ts'
import { startTestInstallation, type TestInstallation } from '../controlplane/routes/installation.ts'
import { at, type Call, register, startControlPlane } from '../controlplane/routes/start.ts'
import { eventually } from '../support/eventually.ts'

let here: TestInstallation
let viewer: Call
let cookie = ''
let db: Db
const now = Date.now()

beforeAll(async () => {
  here = await startTestInstallation()
  await register(here.plane.call, 'owner@example.com')
  await register(here.plane.call, 'eve@example.com')
  const login = { email: 'eve@example.com', password: 'correct horse battery' }
  const answer = await here.plane.call('POST', '/api/auth/login', login)
  cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  viewer = await here.plane.signIn('eve@example.com')
  db = await openDb({ url: here.database.url, log: pino({ level: 'silent' }) })
})
afterAll(async () => {
  await db?.close()
  await here?.[Symbol.asyncDispose]()
})

const store = async (...rows: Partial<TrafficRecord>[]) =>
  insertTraffic(db, (await getOrg(db)).id, rows.map(record))

function record(given: Partial<TrafficRecord>, n: number): TrafficRecord {
  return {
    ...{
      id: `rec_${n}_${given.id ?? ''}`,
      process_id: 'p1',
      seq: n,
      time: new Date(now - 60_000).toISOString(),
    },
    ...{ gateway: 'default/local', agent: 'dev', connector: 'codehost', action_type: 'codehost.pr.merge' },
    ...{
      decision: 'ALLOW',
      would: null,
      note: null,
      reason: null,
      approval_id: null,
      act_id: null,
      method: 'PUT',
    },
    ...{ host: 'api.github.com', path: '/x', status: 200, error_type: null, latency_ms: 10, overhead_ms: 1 },
    ...{
      bytes_in: 1,
      bytes_out: 1,
      permission: null,
      policies: [],
      snapshot_version: 1,
      transport: 'connect-h1',
    },
    ...given,
  } as TrafficRecord
}

const WHY: TrafficRecord['why'] = {
  ...{ source: 'policy', reason: 'Policy money refuses "large".', pattern: null },
  rules: [{ policy: 'money', rule: 'large' }],
  ...{ risk_score: 0.9, risk_factors: ['High-risk action'], approver_groups: [] },
}

describe('reads of the pages', () => {
  test('a new installation has a gateway, no traffic and no pending approvals', async () => {
    const { status, body } = await viewer('GET', '/api/dashboard/overview')
    expect(status).toBe(200)
    const overview = OverviewReply.parse(body)
    expect(overview).toMatchObject({ pending_approvals: 0, has_traffic: false, kill_switches: [] })
    expect(overview.gateways).toMatchObject([
      { name: 'default/local', level: 'full_enforce', is_live: false, last_seen_at: null, stopped: [] },
    ])
  })

  test('activity counts every record of the period once, in buckets without gaps', async () => {
    await store(
      { id: 'a' },
      { id: 'b', decision: 'DENY', reason: 'permission', latency_ms: 30, why: WHY },
      { id: 'c', decision: 'DENY', reason: 'permission' },
      { id: 'd', would: 'DENY', agent: 'other' },
      { id: 'held', decision: 'HOLD', agent: 'other', approval_id: 'apv_1', latency_ms: 90_000 },
      { id: 'old', time: new Date(now - 7_200_000).toISOString() },
    )
    const { body } = await viewer('GET', '/api/dashboard/activity?seconds=3600')
    const activity = ActivityReply.parse(body)
    const { buckets, latency } = activity
    const accurate = (ms: number) => expect.toSatisfy((value: number) => Math.abs(value / ms - 1) <= 0.02)
    expect(latency).toEqual({ p50_ms: accurate(10), p95_ms: accurate(30), p99_ms: accurate(30) })
    expect(buckets).toHaveLength(60)
    const sum = (key: 'allow' | 'deny' | 'hold' | 'would_block') =>
      buckets.reduce((all, one) => all + one[key], 0)
    expect([sum('allow'), sum('hold'), sum('deny'), sum('would_block')]).toEqual([2, 1, 2, 1])
    const steps = buckets.slice(1).map(({ time }, n) => Date.parse(time) - Date.parse(buckets[n]?.time ?? ''))
    expect(new Set(steps)).toEqual(new Set([60_000]))
    expect(activity.denials).toMatchObject([
      { action_type: 'codehost.pr.merge', reason: 'permission', count: 2, agent_count: 2 },
    ])
    expect(activity.agents).toMatchObject([
      { agent: 'dev', allow: 1, deny: 2 },
      { agent: 'other', allow: 1, deny: 0 },
    ])
  })

  test('a record is found by its id; the error for an unknown id points to the audit log', async () => {
    const found = await viewer('GET', '/api/dashboard/traffic/a')
    expect(found.status).toBe(200)
    expect(at(found.body, 'record', 'id')).toBe('a')
    expect(at(found.body, 'record', 'why')).toBeNull()
    const denied = await viewer('GET', '/api/dashboard/traffic/b')
    expect(at(denied.body, 'record', 'why')).toEqual(WHY)
    const missing = await viewer('GET', '/api/dashboard/traffic/rec_none')
    expect(missing.status).toBe(404)
    expect(at(missing.body, 'message')).toContain('audit log')
  })

  test('the catalogue names every kind of connector and the risk of each action', async () => {
    const { connectors } = ConnectorKindsReply.parse((await viewer('GET', '/api/dashboard/catalogue')).body)
    expect(connectors.map(({ type }) => type)).toEqual(
      expect.arrayContaining([
        'codehost',
        'llm_a',
        'llm_b',
        'llm_c',
        'payments',
        'chat',
        'generic',
        'webhook',
        'mcp',
      ]),
    )
    expect(connectors.find(({ type }) => type === 'codehost')?.domains).toContain('api.github.com')
    expect(connectors.find(({ type }) => type === 'generic')?.domains).toEqual([])
    const { body } = await viewer('GET', '/api/dashboard/catalogue/codehost')
    expect(at(body, 'actions')).toContainEqual({
      type: 'codehost.repo.delete',
      effect: 'write',
      risk: 'high',
      effects: ['delete'],
    })
  })

  test('a dry run decides for an agent by its name and stores nothing', async () => {
    await here.admin('POST', '/api/dashboard/agents', { name: 'dev', runtime: '', environment: 'production' })
    const spec = { type: 'codehost.branch.delete', resource: { provider: 'codehost', target: 'a/b' } }
    const before = await here.sql('select count(*) from audit_events')
    const ask = (agent: string, text: string) =>
      viewer('GET', `/api/dashboard/dry-run?agent=${agent}&action_spec=${encodeURIComponent(text)}`)
    const { status, body } = await ask('dev', JSON.stringify(spec))
    expect(status).toBe(200)
    expect(at(body, 'decision', 'outcome')).toBe('deny')
    expect(at<unknown[]>(body, 'trace').length).toBeGreaterThan(0)
    expect(await here.sql('select count(*) from audit_events')).toEqual(before)
    expect((await ask('dev', '{')).status).toBe(400)
    expect(at((await ask('dev', '{"type":"x"}')).body, 'details')).toContain('action_spec.resource')
    expect((await ask('nobody', JSON.stringify(spec))).status).toBe(404)
  })
})

describe('the stream of changes', () => {
  test('sends only the kinds that changed, also for changes on other replicas', async () => {
    // Second replica, which receives changes of the first.
    const plane = await startControlPlane(here.database)
    const answer = await fetch(`${plane.url}/api/dashboard/events`, {
      headers: { accept: 'text/event-stream', cookie },
    })
    expect(answer.headers.get('content-type')).toContain('text/event-stream')
    let text = ''
    const reading = (async () => {
      const decoder = new TextDecoder()
      for await (const chunk of answer.body ?? []) text += decoder.decode(chunk, { stream: true })
    })()
    await eventually('the stream opens', () => (text.includes('event: open') ? true : null))
    // The first read is the baseline.
    await eventually('a change of traffic', async () => {
      await store({ id: `live-${Math.random()}`, time: new Date().toISOString() })
      return text.includes('"traffic"') ? true : null
    })
    await here.admin('POST', '/api/dashboard/kill-switch', { active: true, reason: 'secret reason' })
    await eventually('a change of the kill switch', () => (text.includes('"kill"') ? true : null))
    await here.admin('POST', '/api/dashboard/kill-switch', { active: false })
    expect(text).not.toContain('secret reason')
    expect(text).not.toContain('live-')
    // A control plane closes its streams when it shuts down.
    const { promise, resolve } = Promise.withResolvers<string>()
    void reading.then(() => resolve('ended'))
    await plane.close()
    expect(await promise).toBe('ended')
  })

  test('is refused without a session', async () => {
    const { plane } = here
    const answer = await fetch(`${plane.url}/api/dashboard/events`, {
      headers: { accept: 'text/event-stream' },
    })
    expect(answer.status).toBe(401)
    const versions = await fetch(`${plane.url}/api/dashboard/events`, { headers: { cookie } })
    expect(Object.keys(((await versions.json()) as { versions: object }).versions).sort()).toEqual(
      ['approvals', 'audit', 'config', 'gateways', 'kill', 'traffic'].sort(),
    )
  })
})
