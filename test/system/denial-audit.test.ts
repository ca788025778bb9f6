import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Call, caller } from '../controlplane/routes/start.ts'
import { type AgentRequest, keyedAgent, type TestAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Everything, resource, startEverything } from '../support/every-connector.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { openTunnel } from '../support/tunnel.ts'

const HOST = 'api.github.com'
const JSON_TYPE = [['Content-Type', 'application/json']] as const

let everything: Everything
let laptop: Laptop
let agent: TestAgent
let v1: Call

const EXTRA = [
  resource(
    'Policy',
    'freeze',
    `  scope: { actions: ["codehost.*"] }
  rules:
    - { name: no-deletions, conditions: ['action.type == "codehost.release.delete"'], decision: deny, reason: ask the release team }`,
  ),
  resource(
    'Policy',
    'watch',
    `  priority: 900
  mode: monitor
  scope: { actions: ["codehost.*"] }
  rules:
    - { name: only-looking, decision: allow }`,
  ),
  resource('Connector', 'bare', "  type: generic\n  domains: ['bare.example']"),
  resource(
    'Connector',
    'metadata',
    "  type: webhook\n  domains: ['169.254.169.254']\n  auth: { type: none }",
  ),
].join('\n---\n')

beforeAll(async () => {
  everything = await startEverything({
    gatewaySpec: '  approvals: { timeoutSeconds: 10 }',
    rules: {
      '*': [
        ['codehost', 'codehost.*', 'allow'],
        ['codehost', 'codehost.repo.update', 'deny'],
        ['codehost', 'codehost.pr.merge', 'require_approval'],
        ['generic', 'generic.*', 'allow'],
        ['webhook', 'webhook.*', 'allow'],
        ['mcp', 'mcp.*', 'allow'],
        ['codehost', 'codehost.issue.close', 'deny'],
      ],
    },
    extra: EXTRA,
  })
  const manifests = everything.manifests.replace(
    'type: codehost\n',
    'type: codehost\n  environment: staging\n',
  )
  laptop = await startLaptop({ database: 'worker', manifests: { 'audit.yaml': manifests } })
  agent = await keyedAgent(laptop, 'auditee')
  const key = Buffer.from(agent.target.proxyAuthorization?.split(' ')[1] ?? '', 'base64')
    .toString()
    .split(':')[1]
  await eventually('its first request in the audit log', async () =>
    (await events(5)).some(({ event_type }) => event_type === 'action.denied') ? true : null,
  )
  v1 = caller(laptop.ready.base_url, { authorization: `Bearer ${key}` })
})
afterAll(async () => {
  await laptop?.stop()
  await everything?.recorder.close()
})

let isStopped = false
afterEach(async () => {
  if (isStopped) await stop(false)
})

type Event = {
  readonly id: string
  readonly event_type: string
  readonly action_request_id: string | null
  readonly details: Record<string, unknown>
}

async function newestId(): Promise<string | undefined> {
  return (await events(1))[0]?.id
}

async function events(limit: number): Promise<readonly Event[]> {
  const { body } = await laptop.api('GET', `/api/dashboard/audit?limit=${limit}`)
  return body['events'] as Event[]
}

/** What `work` left in the audit log, oldest first, once an event of this type is there. */
async function eventsOf(type: string, work: () => Promise<unknown>): Promise<readonly Event[]> {
  const last = await newestId()
  await work()
  return eventually(`${type} in the audit log`, async () => {
    const page = await events(50)
    const end = page.findIndex(({ id }) => id === last)
    const found = page.slice(0, end === -1 ? undefined : end).toReversed()
    return found.some(({ event_type }) => event_type === type) ? found : null
  })
}

async function chainOf(work: () => Promise<unknown>): Promise<Record<string, Record<string, unknown>>> {
  const found = (await eventsOf('action.denied', work)).filter(({ event_type }) =>
    event_type.startsWith('action.'),
  )
  expect(new Set(found.map(({ action_request_id }) => action_request_id)).size).toBe(1)
  return Object.fromEntries(found.map(({ event_type, details }) => [event_type, details]))
}

/** The fields of the specification, which both planes have to agree on. */
const REQUESTED = ['action_type', 'resource', 'parameters', 'risk_score', 'risk_hints']
const DENIED = ['decision', 'reason', 'matched_policy', 'matched_rule', 'risk_score']

function specified(details: Record<string, unknown> | undefined, names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, details?.[name]]))
}

async function proxied(request: AgentRequest) {
  const seen = everything.recorder.seen.length
  const chain = await chainOf(async () => expect((await agent.send(request)).status).toBe(403))
  expect(everything.recorder.seen).toHaveLength(seen)
  return chain
}

async function advised(spec: object) {
  return chainOf(async () => {
    const answer = await v1('POST', '/api/v1/actions', { action_spec: spec })
    expect(answer.body).toMatchObject({ status: 'denied' })
  })
}

async function stop(active: boolean): Promise<void> {
  isStopped = active
  const body = active ? { active, reason: 'drill' } : { active }
  expect((await laptop.api('POST', '/api/dashboard/kill-switch', body)).status).toBe(200)
}

const UPDATE_REPO = {
  request: { method: 'PATCH', host: HOST, target: '/repos/acme/site', headers: JSON_TYPE, body: '{}' },
  spec: {
    type: 'codehost.repo.update',
    resource: { provider: 'codehost', target: 'acme/site' },
  },
}
const DELETE_RELEASE = {
  request: { method: 'DELETE', host: HOST, target: '/repos/acme/site/releases/7' },
  spec: {
    type: 'codehost.release.delete',
    resource: { provider: 'codehost', target: 'acme/site' },
  },
}

describe('a proxied denial and one of v1 leave the same evidence', () => {
  test('by a permission: the pattern that denied, never one that allows', async () => {
    const chain = await proxied(UPDATE_REPO.request)
    const parameters = chain['action.requested']?.['parameters']
    expect(chain['action.requested']).toMatchObject({
      action_type: 'codehost.repo.update',
      resource: { provider: 'codehost', target: 'acme/site', environment: 'staging' },
      risk_score: 20,
      risk_hints: {},
    })
    expect(chain['action.denied']).toMatchObject({
      decision: 'deny',
      reason: expect.stringContaining('rule "codehost.repo.update", denies'),
      matched_policy: null,
      matched_rule: 'codehost.repo.update',
      risk_score: 20,
    })
    const own = await advised({ ...UPDATE_REPO.spec, parameters })
    expect(specified(own['action.requested'], REQUESTED)).toEqual(
      specified(chain['action.requested'], REQUESTED),
    )
    expect(specified(own['action.denied'], DENIED)).toEqual(specified(chain['action.denied'], DENIED))
  })

  test('by a policy: its id and its rule, whatever a policy in monitor mode says', async () => {
    const chain = await proxied(DELETE_RELEASE.request)
    const parameters = chain['action.requested']?.['parameters']
    expect(chain['action.denied']).toMatchObject({
      reason: expect.stringContaining('ask the release team'),
      matched_policy: expect.stringMatching(/^pol_[^@]+$/),
      matched_rule: 'no-deletions',
    })
    const own = await advised({ ...DELETE_RELEASE.spec, parameters })
    expect(specified(own['action.requested'], REQUESTED)).toEqual(
      specified(chain['action.requested'], REQUESTED),
    )
    expect(specified(own['action.denied'], DENIED)).toEqual(specified(chain['action.denied'], DENIED))
  })

  test('by the kill switch: the action has its name, no rule is named, in the answer neither', async () => {
    await stop(true)
    const chain = await proxied(DELETE_RELEASE.request)
    const parameters = chain['action.requested']?.['parameters']
    const named = { reason: 'Kill switch active: drill', matched_policy: null, matched_rule: null }
    expect(chain['action.denied']).toMatchObject({ ...named, risk_score: 95 })
    expect(chain['action.requested']).toMatchObject({
      action_type: 'codehost.release.delete',
      resource: { target: 'acme/site', environment: 'staging' },
      risk_score: 95,
    })
    let answer: unknown
    const own = await chainOf(async () => {
      const action_spec = { ...DELETE_RELEASE.spec, parameters }
      answer = (await v1('POST', '/api/v1/actions', { action_spec })).body
    })
    expect(answer).toMatchObject({ decision: { outcome: 'deny', matched_policies: [] } })
    expect(specified(own['action.requested'], REQUESTED)).toEqual(
      specified(chain['action.requested'], REQUESTED),
    )
    expect(specified(own['action.denied'], DENIED)).toEqual(specified(chain['action.denied'], DENIED))
  })
})

const tool = (name: string) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { id: 7 } } })

test.each([
  [
    'has no body',
    { host: 'tools.mcp.test', target: '/mcp', body: tool('drop_table') },
    'mcp.tools.drop_table',
  ],
  [
    'by one of two',
    { host: HOST, target: '/repos/o/r/pulls/1', method: 'PATCH', body: '{"state":"closed"}' },
    'codehost.pr.close',
  ],
  [
    'by the other',
    { host: HOST, target: '/repos/o/r/pulls/1', method: 'PATCH', body: '{"title":"x"}' },
    'codehost.pr.update',
  ],
  ['by its line', { host: HOST, target: '/graphqlx', body: '{}' }, 'codehost.unmapped.post'],
])('under a kill switch a request is named %s', async (_how, given, wanted) => {
  await stop(true)
  const chain = await proxied({ method: 'POST', headers: JSON_TYPE, ...given })
  expect(chain['action.requested']).toMatchObject({ action_type: wanted })
  expect(chain['action.requested']?.['risk_score']).toEqual(expect.any(Number))
})

test.each([
  [
    'credential',
    { method: 'GET', host: 'bare.example', target: '/a' },
    403,
    'generic.get',
    /has no credential/,
  ],
  [
    'address',
    { method: 'POST', host: '169.254.169.254', target: '/a' },
    502,
    'webhook.post',
    /No setting allows such addresses/,
  ],
] as const)('%s: denied with the action, and no rule', async (_reason, request, status, type, why) => {
  const chain = await chainOf(async () => expect((await agent.send(request)).status).toBe(status))
  expect(chain['action.requested']).toMatchObject({ action_type: type, risk_score: expect.any(Number) })
  expect(chain['action.denied']).toMatchObject({
    decision: 'deny',
    reason: expect.stringMatching(why),
    matched_policy: null,
    matched_rule: null,
  })
})

test('unknown_host: denied without a name, with the host', async () => {
  const chain = await chainOf(() => openTunnel(agent.target, 'nobody.example').catch(() => null))
  expect(chain['action.requested']).toMatchObject({
    action_type: null,
    resource: { provider: null, target: 'nobody.example' },
  })
  expect(chain['action.denied']).toMatchObject({
    reason: expect.stringContaining('No connector owns nobody.example:443'),
    matched_policy: null,
    matched_rule: null,
  })
})

test('approval_denied and approval_expired end the chain of what was held, which names everything', async () => {
  const merge = {
    method: 'PUT',
    host: HOST,
    target: '/repos/acme/site/pulls/7/merge',
    headers: JSON_TYPE,
    body: '{}',
  }
  const answer = async () => {
    const held = agent.send(merge)
    const id = await eventually('a card', async () => {
      const { body } = await laptop.api('GET', '/api/dashboard/proxy-approvals?status=pending')
      return (body['approvals'] as { id: string }[])[0]?.id ?? null
    })
    await laptop.api('POST', '/api/dashboard/proxy-approvals', { id, approved: false, note: 'not today' })
    expect((await held).status).toBe(403)
  }
  for (const [work, why] of [
    [answer, /^not today\. An approver denied/],
    [async () => expect((await agent.send(merge)).status).toBe(403), /expired without an answer/],
  ] as const) {
    const found = await eventsOf('action.denied', work)
    expect(found.filter(({ event_type }) => event_type === 'action.requested')).toHaveLength(1)
    const chain = Object.fromEntries(found.map(({ event_type, details }) => [event_type, details]))
    expect(chain['action.requested']).toMatchObject({
      action_type: 'codehost.pr.merge',
      resource: { provider: 'codehost', target: 'acme/site', environment: 'staging' },
      risk_score: 50,
    })
    expect(chain['action.denied']).toMatchObject({
      reason: expect.stringMatching(why),
      matched_policy: null,
      matched_rule: 'codehost.pr.merge',
      risk_score: 50,
    })
  }
})

test('unreadable requests, and requests without a decision, are in the traffic log only', async () => {
  const last = await newestId()
  const request = { method: 'PUT', host: HOST, target: '/repos/o/r/issues/../pulls/1/merge' }
  expect((await agent.send(request)).status).toBe(400)
  await eventually('its record', async () => {
    const { body: page } = await laptop.api('GET', '/api/dashboard/traffic?limit=1')
    const [record] = page['traffic'] as { reason: string }[]
    return record?.reason === 'ambiguous' ? record : null
  })
  expect(await newestId()).toBe(last)
})

test('a long body makes no long event', async () => {
  const state = 'closed'
  const body = JSON.stringify({ state, title: 'x'.repeat(500_000) })
  const request = { method: 'PATCH', host: HOST, target: '/repos/o/r/issues/7', headers: JSON_TYPE, body }
  const chain = await proxied(request)
  expect(chain['action.requested']).toMatchObject({
    action_type: 'codehost.issue.close',
    parameters: { title: expect.stringMatching(/^x{500}… \(500000 characters\)$/) },
    parameters_bytes: expect.any(Number),
    parameters_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  expect(JSON.stringify(chain['action.requested']).length).toBeLessThan(4_000)
})

test('the record of an allowed request says no more than before, and none says what only the audit log says', async () => {
  expect((await agent.send({ method: 'GET', host: HOST, target: '/repos/acme/site' })).status).toBe(200)
  const token = readFileSync(`${laptop.data}/gateway.token`, 'utf8').trim()
  const answer = await fetch(`${laptop.ready.gateway_url}/internal/traffic?limit=1000`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const { traffic } = (await answer.json()) as { traffic: Record<string, unknown>[] }
  const allowed = traffic.filter(({ decision }) => decision === 'ALLOW')
  expect(allowed.length).toBeGreaterThan(0)
  for (const record of allowed) expect(Object.keys(record)).not.toContain('audit')
  const { body } = await laptop.api('GET', '/api/dashboard/traffic?limit=100')
  expect(JSON.stringify(body)).not.toContain('"audit"')
})

test('the CSV has the same', async () => {
  const token = readFileSync(`${laptop.data}/admin.token`, 'utf8').trim()
  const csv = await (
    await fetch(`${laptop.ready.base_url}/api/dashboard/audit-export?event_type=action.denied`, {
      headers: { authorization: `Bearer ${token}` },
    })
  ).text()
  const lines = csv.split('\r\n').filter((line) => line.includes('no-deletions'))
  expect(lines.length).toBeGreaterThanOrEqual(2)
  for (const line of lines) {
    expect(line).toContain('codehost.release.delete')
    expect(line).toContain('""risk_score"": 95')
    expect(line).toContain('acme/site')
  }
})
