import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertTraffic } from '../../../controlplane/features/traffic/store.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import { OPERATOR_TOKEN, startTestInstallation, type TestInstallation } from './installation.ts'
import { type Answer, at, caller } from './start.ts'

const RULE = `rules: [{ name: a, decision: deny, conditions: ['action.type == "generic.unmapped.get"'] }]\n`
const withTest = (outcome: string) =>
  `${RULE}tests:\n  - { name: reads, action: { type: generic.unmapped.get, resource: { provider: generic } }, expect: { outcome: ${outcome} } }\n`
const HOST = 'a.example.com'

let here: TestInstallation
let policyId: string

beforeAll(async () => {
  here = await startTestInstallation({ DASHBOARD_EDITING: 'yaml' })
  await put('Gateway', {})
  const gatewayRefs = [{ name: 'edge' }]
  const credential = { secretRef: { name: 's' } }
  await put('Connector', { type: 'generic', domains: [HOST], credential, gatewayRefs })
  const rules = [{ connectorType: 'generic', actionPattern: 'generic.*', decision: 'allow' }]
  await put('Permission', { gatewayRefs, agents: ['team/bot'], rules })
  await put('Policy', {
    rules: [{ name: 'a', conditions: ['action.risk == "high"'], decision: 'deny' }],
    gatewayRefs,
  })
  const agent = { name: 'team/bot', runtime: 'x', environment: 'production', gateway: 'team/edge' }
  expect((await here.admin('POST', '/api/dashboard/agents', agent)).status).toBe(200)
  await recordRequest('team/bot')
  await serveOther()
  const { body } = await here.admin('GET', '/api/dashboard/policies')
  const rows = at<{ id: string; name: string }[]>(body, 'policies')
  policyId = rows.find(({ name }) => name === 'team/edge')?.id ?? ''
})
afterAll(() => here?.[Symbol.asyncDispose]())

async function put(kind: string, spec: object, namespace = 'team'): Promise<void> {
  const operator = caller(here.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  const metadata = { name: 'edge', namespace }
  const answer = await operator('PUT', `/api/operator/objects/${kind}/${namespace}/edge`, {
    ...{ uid: `${kind}-${namespace}`, generation: 1, source: 'kubernetes' },
    managed_by: `kubernetes ${kind} ${namespace}/edge`,
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata, spec },
    ...(kind === 'Connector' ? { credential: 'canary-secret' } : {}),
  })
  expect(answer.body, answer.text).toMatchObject({ accepted: true })
}

/** A Gateway of another namespace, which allows the same, and a request of its agent. */
async function serveOther(): Promise<void> {
  await put('Gateway', {}, 'other')
  const gatewayRefs = [{ name: 'edge' }]
  const credential = { secretRef: { name: 's' } }
  await put('Connector', { type: 'generic', domains: [HOST], credential, gatewayRefs }, 'other')
  const rules = [{ connectorType: 'generic', actionPattern: 'generic.*', decision: 'allow' }]
  await put('Permission', { gatewayRefs, agents: ['other/bot'], rules }, 'other')
  const agent = { name: 'other/bot', runtime: 'x', environment: 'production', gateway: 'other/edge' }
  expect((await here.admin('POST', '/api/dashboard/agents', agent)).status).toBe(200)
  await recordRequest('other/bot')
}

let seq = 0

async function recordRequest(agent: string): Promise<void> {
  const [org] = await here.sql('select id from orgs')
  const connector = agent.replace('/bot', '/edge')
  const record = {
    ...{ id: `rec_${++seq}`, process_id: 'proc_one', seq, time: new Date().toISOString() },
    ...{ gateway: connector, agent, connector, action_type: 'generic.unmapped.get', decision: 'ALLOW' },
    ...{ would: null, note: null, reason: 'permission', approval_id: null, act_id: null, method: 'GET' },
    ...{ host: HOST, path: '/items', status: 200, error_type: null, latency_ms: 1, overhead_ms: 1 },
    ...{
      bytes_in: 0,
      bytes_out: 0,
      permission: null,
      policies: [],
      snapshot_version: 1,
      transport: 'forward',
    },
  }
  const query = async (text: string, values: readonly unknown[] = []) => {
    const rows = await here.sql(text, [...values])
    return { rows, rowCount: rows.length }
  }
  await insertTraffic({ query } as never, at(org, 'id'), [record as unknown as TrafficRecord])
}

const edited = (answer: Answer) => {
  expect([answer.status, answer.body['editing']], answer.text).toEqual([409, 'yaml'])
  return answer.body
}
const post = (path: string, body: object) => here.admin('POST', `/api/dashboard/${path}`, body)

describe('the answer to an edit of a policy, beside its manifest', () => {
  const passed = { name: 'reads', passed: true }
  const failed = {
    name: 'reads',
    passed: false,
    failure: expect.stringMatching(/expected .*allow.*, got .*deny/),
  }

  test.each([
    ['deny', passed],
    ['allow', failed],
  ])('has the results of its tests, and what it changes in recent traffic (%s)', async (outcome, result) => {
    const created = edited(await post('policies', { name: 'mine', policyYaml: withTest(outcome) }))
    const denied = (name: string) => ({
      ...{ agent: `${name}/bot`, before: { decision: 'ALLOW' }, after: { decision: 'DENY' } },
    })
    expect(created['tests']).toEqual([{ policy: 'mine', tests: [result] }])
    const patch = { policy_id: policyId, policyYaml: withTest(outcome) }
    const changed = edited(await here.admin('PATCH', '/api/dashboard/policies', patch))
    expect(changed['tests']).toEqual([{ policy: 'team/edge', tests: [result] }])
    expect(created['replay']).toMatchObject({
      ...{ considered: 2, skipped: 0, changes: [denied('other'), denied('team')] },
    })
    // It is bound to one Gateway.
    expect(changed['replay']).toMatchObject({ considered: 2, skipped: 0, changes: [denied('team')] })
  })

  test('says that one without tests has none, and one that is removed changes nothing here', async () => {
    const body = edited(await post('policies', { name: 'plain', policyYaml: RULE, enabled: false }))
    expect(body).toMatchObject({
      tests: [{ policy: 'plain', tests: [] }],
      replay: { considered: 2, changes: [] },
    })
    const path = `/api/dashboard/policies?policy_id=${policyId}`
    expect(edited(await here.admin('DELETE', path))).toMatchObject({
      ...{ tests: [], removed: [{ kind: 'Policy', namespace: 'team', name: 'edge' }] },
      replay: { considered: 2, changes: [] },
    })
  })

  test('names each policy of an import, and none for other kinds', async () => {
    const policies = ['one', 'two'].map((name) => ({ name, policyYaml: withTest('deny') }))
    const body = edited(await post('import', { version: '1.0', policies }))
    expect(body['tests']).toEqual(policies.map(({ name }) => ({ policy: name, tests: [passed] })))
    expect(agentsOf(body)).toEqual(['other/bot', 'team/bot'])
    const rule = { connector_type: 'generic', action_pattern: 'generic.*', decision: 'deny' }
    const other = edited(await post('permissions', { ...rule, gateway_name: 'team/edge', agent: 'team/x' }))
    expect(other['tests']).toEqual([])
    expect(other).not.toHaveProperty('replay')
  })
})

const agentsOf = (body: Answer['body']) =>
  at<{ agent: string }[]>(body, 'replay', 'changes').map(({ agent }) => agent)

describe('what an import would change in recent traffic', () => {
  const imported = async (...policies: object[]) => edited(await post('import', { version: '1.0', policies }))
  const allow = `scope: { actions: [generic.unmapped.get] }\n${RULE.replace('deny', 'allow')}`

  test('counts its policies together, each at the gateways that it names', async () => {
    const denial = { name: 'denial', policyYaml: RULE }
    expect(agentsOf(await imported({ ...denial, gateways: ['other/edge'] }))).toEqual(['other/bot'])
    const permit = { name: 'permit', policyYaml: allow, priority: 500, gateways: ['team/edge'] }
    expect(agentsOf(await imported({ ...denial, priority: 100 }, permit))).toEqual(['other/bot'])
  })

  test('is nothing where its policies are off, or fail their own tests', async () => {
    for (const policy of [
      { policyYaml: RULE, enabled: false },
      { policyYaml: RULE, mode: 'monitor' },
      { policyYaml: withTest('allow') },
    ]) {
      const { replay } = await imported({ name: 'mild', ...policy })
      expect(replay).toMatchObject({ considered: 2, skipped: 0 })
      expect(
        at<{ after: { decision: string } }[]>(replay, 'changes').filter(
          ({ after }) => after.decision !== 'ALLOW',
        ),
      ).toEqual([])
    }
  })
})

describe('a Connector that cannot be added', () => {
  const connector = { type: 'generic', token: 'canary-token', gateway: 'team/edge' }

  test.each([
    ['the same host', { domains: [HOST] }],
    ['one of its hosts', { domains: [HOST, 'b.example.com'] }],
  ])('because a manifest has %s is answered with what to change', async (_name, given) => {
    const body = edited(await post('connectors', { ...connector, ...given }))
    expect(body).toMatchObject({ error: 'Edited in YAML', manifest: '', removed: [] })
    expect(body['message']).toMatch(/a\.example\.com .*team\/edge.*manifest/)
    const wizard = edited(
      await post('gateway', {
        gateway: { name: 'team/edge' },
        connectors: [{ type: 'generic', token: 'canary-token', ...given, accessRule: 'allow_all' }],
      }),
    )
    expect(wizard['message']).toBe(body['message'])
    expect(JSON.stringify([body, wizard])).not.toContain('canary')
  })
})

test('an edit while manifests are applied is answered with when to try again', async () => {
  const client = new pg.Client({ connectionString: here.database.adminUrl })
  await client.connect()
  await client.query("select pg_advisory_lock(hashtextextended('manifest objects', 0))")
  const busy = await post('policies', { name: 'mine', policyYaml: RULE })
  await client.end()
  expect([busy.status, busy.body['retry_after']]).toEqual([503, 1])
  expect(busy.body['message']).toMatch(/Manifests are being applied/)
  edited(await post('policies', { name: 'mine', policyYaml: RULE }))
})
