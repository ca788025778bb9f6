import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { getOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { insertTraffic } from '../../../controlplane/features/traffic/store.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import { EvidenceReply } from '../../../core/wire/audit.ts'
import type { EffectiveReply } from '../../../core/wire/permissions.ts'
import type { PolicyCheckReply, PolicyVersionsReply, ReplayReply } from '../../../core/wire/policies.ts'
import { readOperations } from '../../controlplane/openapi/document.ts'
import { startTestInstallation, type TestInstallation } from '../../controlplane/routes/installation.ts'
import { type Call, register } from '../../controlplane/routes/start.ts'

let here: TestInstallation
let viewer: Call
let db: Db

beforeAll(async () => {
  here = await startTestInstallation()
  await register(here.plane.call, 'owner@example.com')
  await register(here.plane.call, 'eve@example.com')
  viewer = await here.plane.signIn('eve@example.com')
  db = await openDb({ url: here.database.url, log: pino({ level: 'silent' }) })
  await setUp()
})
afterAll(async () => {
  await db?.close()
  await here?.[Symbol.asyncDispose]()
})

const RULE = `rules:
  - name: no merges
    conditions: ['action.type == "codehost.pr.merge"']
    decision: deny
`
const TESTED = `${RULE}tests:
  - name: merging is denied
    action: { type: codehost.pr.merge, resource: { provider: codehost } }
    expect: { outcome: deny }
`

/** An agent at the local gateway that may merge and read, and a merge of its in the log. */
async function setUp(): Promise<void> {
  const agent = { name: 'dev', runtime: '', environment: 'production', gateway: 'default/local' }
  expect((await here.admin('POST', '/api/dashboard/agents', agent)).status).toBe(200)
  const connector = { type: 'codehost', token: 'ghp_secret', gateway: 'default/local' }
  expect((await here.admin('POST', '/api/dashboard/connectors', connector)).status).toBe(200)
  const permission = {
    gateway_name: 'default/local',
    connector_type: 'codehost',
    action_pattern: 'codehost.pr.*',
    decision: 'allow',
  }
  expect((await here.admin('POST', '/api/dashboard/permissions', permission)).status).toBe(200)
  await insertTraffic(db, (await getOrg(db)).id, [
    merge({ id: 'rec_1', seq: 1 }),
    merge({ id: 'rec_2', seq: 2, agent: 'gone' }),
    merge({
      id: 'rec_3',
      seq: 3,
      method: 'GET',
      action_type: 'codehost.pr.get',
      path: '/repos/acme/site/pulls/7',
    }),
  ])
}

function merge(given: Partial<TrafficRecord>): TrafficRecord {
  return {
    ...{ id: 'rec', process_id: 'p1', seq: 1, time: new Date(Date.now() - 60_000).toISOString() },
    ...{ gateway: 'default/local', agent: 'dev', connector: 'codehost', action_type: 'codehost.pr.merge' },
    ...{ decision: 'ALLOW', would: null, note: null, reason: null, approval_id: null, act_id: null },
    ...{ method: 'PUT', host: 'api.github.com', path: '/repos/acme/site/pulls/7/merge', status: 200 },
    ...{ error_type: null, latency_ms: 10, overhead_ms: 1, bytes_in: 1, bytes_out: 1, permission: null },
    ...{ policies: [], snapshot_version: 1, transport: 'h1' },
    ...given,
  }
}

const check = async (policyYaml: string, record: object = {}) =>
  (await here.admin('POST', '/api/dashboard/policies/check', { policyYaml, ...record }))
    .body as unknown as PolicyCheckReply

describe('the check of an unsaved policy', () => {
  test('says for every mistake in which line it is', async () => {
    const reply = await check(
      'rules:\n  - name: a\n    decision: perhaps\n    conditions: ["action.typo("]\n',
    )
    expect(reply.ok).toBe(false)
    expect(reply.problems[0]).toMatchObject({ line: 3, message: expect.stringContaining('decision') })
    const conditions = await check(
      'rules:\n  - name: a\n    decision: deny\n    conditions:\n      - "1 +"\n',
    )
    expect(conditions.problems).toHaveLength(1)
    expect(conditions.problems[0]?.line).toBe(5)
    expect((await check('rules: [')).problems[0]?.line).toBeGreaterThan(0)
  })

  test('runs its tests and says what came out instead', async () => {
    expect(await check(TESTED)).toMatchObject({ ok: true, problems: [], tests: [{ passed: true }] })
    const wrong = await check(TESTED.replace('outcome: deny', 'outcome: allow'))
    expect(wrong.ok).toBe(false)
    expect(wrong.tests[0]).toMatchObject({ passed: false, failure: expect.stringContaining('got deny') })
  })

  test('compares the fields in the text with the record, and stores nothing', async () => {
    const before = (await here.admin('GET', '/api/dashboard/policies')).body['policies']
    const reply = await check(`priority: 5\n${TESTED}`, { priority: 100 })
    expect(reply).toMatchObject({ ok: false, problems: [{ line: null }] })
    expect((await here.admin('GET', '/api/dashboard/policies')).body['policies']).toEqual(before)
  })
})

describe('the replay of recent traffic', () => {
  const replay = async (body: object) =>
    (await here.admin('POST', '/api/dashboard/policies/replay', body)).body as unknown as ReplayReply

  test('names the requests that a policy would decide otherwise, and what it would change them to', async () => {
    const { considered, skipped, changes } = await replay({ policyYaml: TESTED })
    expect({ considered, skipped }).toEqual({ considered: 2, skipped: 1 })
    expect(changes).toHaveLength(1)
    expect(changes[0]).toMatchObject({
      record_id: 'rec_1',
      action_type: 'codehost.pr.merge',
      before: { decision: 'ALLOW' },
      after: { decision: 'DENY' },
    })
  })

  test('changes nothing for a policy that is off, and only what would be for one that watches', async () => {
    expect((await replay({ policyYaml: TESTED, enabled: false })).changes).toEqual([])
    const [change] = (await replay({ policyYaml: TESTED, mode: 'monitor' })).changes
    expect(change).toMatchObject({ after: { decision: 'ALLOW', would: 'DENY' } })
  })
})

describe('the replay of a request that may have been several things', () => {
  test('decides all of them, also where the record is from before they were listed', async () => {
    const permission = { gateway_name: 'default/local', connector_type: 'codehost', decision: 'allow' }
    for (const action_pattern of ['codehost.unmapped.post', 'codehost.issue.close', 'codehost.issue.update'])
      await here.admin('POST', '/api/dashboard/permissions', { ...permission, action_pattern })
    const time = new Date(Date.now() - 30_000).toISOString()
    const both = ['codehost.issue.close', 'codehost.issue.update']
    await insertTraffic(db, (await getOrg(db)).id, [
      merge({
        ...{ id: 'rec_4', seq: 4, time, method: 'POST', path: '/repos/acme/site/pulls/7' },
        action_type: 'codehost.unmapped.post',
      }),
      merge({
        ...{ id: 'rec_5', seq: 5, time, method: 'PATCH', path: '/repos/acme/site/issues/7' },
        ...{ action_type: 'codehost.issue.close', candidates: both },
      }),
      merge({
        ...{ id: 'rec_6', seq: 6, time, method: 'PATCH', path: '/repos/acme/site/issues/7' },
        action_type: 'codehost.issue.close',
      }),
    ])
    const replayed = async (type: string) => {
      const policyYaml = RULE.replace('codehost.pr.merge', type)
      const reply = await here.admin('POST', '/api/dashboard/policies/replay', { policyYaml })
      return (reply.body as unknown as ReplayReply).changes.map(({ record_id }) => record_id).sort()
    }
    expect(await replayed('codehost.pr.close')).toEqual(['rec_4'])
    expect(await replayed('codehost.issue.update')).toEqual(['rec_5'])
    expect(await replayed('codehost.issue.close')).toEqual(['rec_5', 'rec_6'])
  })
})

describe('effective permissions', () => {
  const ask = async (query: string) =>
    (await viewer('GET', `/api/dashboard/effective-permissions?${query}`)).body as unknown as EffectiveReply

  test('show the decision and the deciding rule of every action, to viewers as well', async () => {
    const reply = await ask('agent=dev&type=codehost')
    expect(reply).toMatchObject({ agent: 'dev', gateway: 'default/local', connectors: ['codehost'] })
    const of = (type: string) => reply.actions.find((action) => action.type === type)
    expect(of('codehost.pr.merge')).toMatchObject({
      decision: 'ALLOW',
      source: 'permission',
      permission: { pattern: 'codehost.pr.*' },
    })
    expect(of('codehost.issue.create')).toMatchObject({ decision: 'DENY', source: 'default' })
    expect((await viewer('GET', '/api/dashboard/effective-permissions?agent=nobody')).status).toBe(404)
  })
})

describe('versions of a policy', () => {
  test('keep every text, newest first, with whether it was put in force', async () => {
    const made = await here.admin('POST', '/api/dashboard/policies', { name: 'kept', policyYaml: RULE })
    const policy_id = made.body['policy_id']
    const failing = TESTED.replace('outcome: deny', 'outcome: allow')
    for (const policyYaml of [failing, TESTED])
      await here.admin('PATCH', '/api/dashboard/policies', { policy_id, policyYaml })
    await here.admin('PATCH', '/api/dashboard/policies', { policy_id, enabled: false })
    const { body } = await here.admin('GET', `/api/dashboard/policies/${policy_id}/versions`)
    const { versions } = body as unknown as PolicyVersionsReply
    expect(versions.map(({ version, passed }) => [version, passed])).toEqual([
      [3, true],
      [2, false],
      [1, true],
    ])
    expect(versions.map(({ policyYaml }) => policyYaml)).toEqual([TESTED, failing, RULE])
    expect((await here.admin('GET', '/api/dashboard/policies/pol_none/versions')).status).toBe(404)
  })
})

describe('the audit log on the page', () => {
  test('comes newest first, page by page, filtered like the export', async () => {
    const all: string[] = []
    let cursor = ''
    do {
      const { body } = await here.admin('GET', `/api/dashboard/audit?limit=3${cursor && `&cursor=${cursor}`}`)
      all.push(...(body['events'] as { id: string }[]).map(({ id }) => id))
      cursor = (body['next_cursor'] as string | null) ?? ''
    } while (cursor !== '')
    expect(all.length).toBeGreaterThan(6)
    expect(new Set(all).size).toBe(all.length)
    expect(all).toEqual([...all].sort().reverse())
    const { body } = await here.admin('GET', '/api/dashboard/audit?event_type=agent.registered')
    expect(body['events']).toMatchObject([{ event_type: 'agent.registered', details: {} }])
    expect((await here.admin('GET', '/api/dashboard/audit?cursor=x')).status).toBe(400)
  })

  test('lists all events of one action in order', async () => {
    const demo = await here.admin('POST', '/api/dashboard/demo-action', { scenario: 1 })
    const id = demo.body['action_request_id']
    const story = EvidenceReply.parse((await here.admin('GET', `/api/dashboard/evidence/${id}`)).body)
    expect(story.events.map(({ event_type }) => event_type)).toEqual([
      'action.requested',
      'action.pending_approval',
    ])
    expect(story.approvals).toMatchObject([{ status: 'pending', action_type: 'codehost.pr.merge' }])
    expect((await here.admin('GET', '/api/dashboard/evidence/act_none')).status).toBe(404)
  })
})

describe('who may ask', () => {
  test('viewers read no texts, versions, audit events or evidence, and change nothing', async () => {
    const asked: [string, string, object?][] = [
      ['POST', '/api/dashboard/policies/check', { policyYaml: RULE }],
      ['POST', '/api/dashboard/policies/replay', { policyYaml: RULE }],
      ['GET', '/api/dashboard/policies/pol_x/versions'],
      ['GET', '/api/dashboard/audit'],
      ['GET', '/api/dashboard/evidence/act_x'],
    ]
    for (const [method, path, body] of asked)
      expect((await viewer(method, path, body)).status, path).toBe(403)
  })

  test('the pages of administrators use nothing but the documented API', async () => {
    const source = readFileSync('controlplane/dashboard/api/admin-operations.ts', 'utf8')
    const used = [...source.matchAll(/'((?:GET|POST|PUT|PATCH|DELETE) \/api\/[^']+)'/g)].map(
      ([, name]) => name,
    )
    const documented = new Set(
      (await readOperations(here.plane.call)).map(({ method, path }) => `${method} ${path}`),
    )
    expect(used.length).toBeGreaterThanOrEqual(15)
    expect(used.filter((name) => !documented.has(name ?? ''))).toEqual([])
  })
})
