import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

/** The gateway's internal API and its metrics, with a real control plane behind: what is answered is what then happens. */
const POLICY = `apiVersion: chaperone.dev/v1alpha1
kind: Policy
metadata: { name: no-closing }
spec:
  scope: { actions: [codehost.issue.close] }
  rules: [{ name: people-close, conditions: ['true'], decision: deny }]
`
const JSON_TYPE = [['Content-Type', 'application/json']] as const
const ISSUE = {
  ...{ method: 'POST', host: 'api.github.com', target: '/repos/acme/site/issues' },
  body: '{"title":"x"}',
} as const
const CLOSE = {
  ...{ method: 'PATCH', host: 'api.github.com', target: '/repos/acme/site/issues/1', headers: JSON_TYPE },
  body: '{"state":"closed"}',
} as const
const DELETE_BRANCH = {
  ...{ method: 'DELETE', host: 'api.github.com', target: '/repos/acme/site/git/refs/heads/x' },
} as const
const merge = (number: number) =>
  ({
    ...{ method: 'PUT', host: 'api.github.com', target: `/repos/acme/site/pulls/${number}/merge` },
    ...{ headers: JSON_TYPE, body: '{}' },
  }) as const

let vendors: Vendors
let laptop: Laptop
let agent: TestAgent
let token: string

beforeAll(async () => {
  vendors = await startVendors()
  // Without a manifest for the gateway its level is the API's to change.
  const [, ...withoutGateway] = vendors.manifests.split('---\n')
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'vendors.yaml': withoutGateway.join('---\n'), 'policy.yaml': POLICY },
  })
  agent = testAgent(laptop)
  token = readFileSync(`${laptop.data}/gateway.token`, 'utf8').trim()
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

type Row = Readonly<Record<string, unknown>>

async function internal(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: Row }> {
  const answer = await fetch(laptop.ready.gateway_url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: (await answer.json()) as Row }
}

const rowsOf = async (path: string, list: string) =>
  (await internal('GET', path)).body[list] as readonly Row[]

const pendingCard = () =>
  eventually('a pending approval', async () => (await rowsOf('/internal/approvals', 'approvals'))[0] ?? null)

async function scrape(path = '/metrics'): Promise<string> {
  const answer = await fetch(laptop.ready.gateway_url + path, {
    headers: { authorization: `Bearer ${token}` },
  })
  return await answer.text()
}

test('a connector that was added owns its host until it is removed, and never shows its token', async () => {
  const request = { method: 'GET', host: 'added.example', target: '/' } as const
  expect((await agent.send(request)).status).toBe(403)
  const token = 'canary-of-the-added-connector'
  const added = await internal('POST', '/internal/connectors/add', {
    ...{ type: 'generic', token, domains: ['added.example'] },
  })
  expect(added).toEqual({
    status: 200,
    body: { ok: true, id: expect.stringMatching(/^conn_/), type: 'generic', domains: ['added.example'] },
  })
  const listed = await internal('GET', '/internal/connectors')
  expect(JSON.stringify(listed)).not.toContain(token)
  expect(listed.body['connectors']).toContainEqual(
    expect.objectContaining({
      ...{ id: added.body['id'], type: 'generic', domains: ['added.example'] },
      ...{ auth_type: 'bearer', has_token: true, source: 'api' },
    }),
  )
  // Its host is known now; what is asked of it has no permission yet.
  expect(await agent.json(request)).toMatchObject({ status: 403, body: { action_type: 'generic.get' } })
  const removed = await internal('POST', '/internal/connectors/remove', { id: added.body['id'] })
  expect(removed).toEqual({ status: 200, body: { ok: true } })
  expect((await agent.send(request)).status).toBe(403)
  expect((await internal('POST', '/internal/connectors/remove', { id: added.body['id'] })).status).toBe(404)
})

test('what a manifest says is changed in the manifest alone', async () => {
  const connectors = await rowsOf('/internal/connectors', 'connectors')
  const codehost = connectors.find(({ type }) => type === 'codehost')
  const refused = await internal('POST', '/internal/connectors/remove', { id: codehost?.['id'] })
  expect(refused.status).toBe(409)
  expect(String(refused.body['error'])).toMatch(/Managed by vendors\.yaml; edit the manifest/)
  expect((await agent.send(ISSUE)).status).toBe(201)
})

test('a permission that was set decides the next request; setting it again changes the same row', async () => {
  const before = vendors.recorder.seen.length
  const permission = {
    gateway_name: 'local',
    connector_type: 'codehost',
    action_pattern: 'codehost.issue.create',
  }
  const deny = await internal('POST', '/internal/permissions/set', { ...permission, decision: 'deny' })
  expect(deny).toEqual({ status: 200, body: { ok: true, id: expect.stringMatching(/^perm_/) } })
  expect(await agent.json(ISSUE)).toMatchObject({
    status: 403,
    body: { matched_permission: deny.body['id'] },
  })
  expect(vendors.recorder.seen.length).toBe(before)
  const allow = await internal('POST', '/internal/permissions/set', { ...permission, decision: 'allow' })
  expect(allow.body['id']).toBe(deny.body['id'])
  expect((await agent.send(ISSUE)).status).toBe(201)
  expect(await rowsOf('/internal/permissions', 'permissions')).toContainEqual(
    expect.objectContaining({
      ...{ id: deny.body['id'], connector_type: 'codehost', source: 'api' },
      ...{ action_pattern: 'codehost.issue.create', decision: 'allow' },
    }),
  )
  const elsewhere = { ...permission, gateway_name: 'other', decision: 'allow' }
  expect((await internal('POST', '/internal/permissions/set', elsewhere)).status).toBe(404)
})

test('a hold is listed, answered once, and remembered with who answered', async () => {
  const before = vendors.recorder.seen.length
  const waiting = agent.send(merge(1))
  const card = await pendingCard()
  expect(card).toMatchObject({
    ...{ id: expect.stringMatching(/^apv_/), kind: 'hold', status: 'pending', agent: 'dev' },
    ...{ action_type: 'codehost.pr.merge', method: 'PUT', path: '/repos/acme/site/pulls/1/merge' },
  })
  const gauges = await scrape()
  expect(gauges).toMatch(/^svc_approvals_pending 1$/m)
  expect(gauges).toMatch(/^svc_active_connections\{agent="dev"\} [1-9]/m)
  const answer = { id: card['id'], approved: true, by: 'ada', note: 'checked' }
  expect(await internal('POST', '/internal/approvals/respond', answer)).toEqual({
    status: 200,
    body: { ok: true, id: card['id'], status: 'approved' },
  })
  expect((await waiting).status).toBe(200)
  expect(vendors.recorder.seen.length).toBe(before + 1)
  expect(await rowsOf('/internal/approvals', 'approvals')).toEqual([])
  expect((await rowsOf('/internal/approvals/recent', 'approvals'))[0]).toMatchObject({
    ...{ id: card['id'], status: 'approved', responded_by: 'ada', note: 'checked' },
  })
  expect((await internal('POST', '/internal/approvals/respond', answer)).status).toBe(409)
  const unknown = await internal('POST', '/internal/approvals/respond', { ...answer, id: 'apv_nothing' })
  expect(unknown.status).toBe(404)

  const refused = agent.json(merge(2))
  const second = await pendingCard()
  await internal('POST', '/internal/approvals/respond', { ...answer, id: second['id'], approved: false })
  expect(await refused).toMatchObject({ status: 403, body: { error: 'approval denied' } })
  expect(vendors.recorder.seen.length).toBe(before + 1)
})

test('an agent that was registered has a port of its own, the same one twice, until it is deregistered', async () => {
  const first = await internal('POST', '/internal/agents/register', { name: 'second' })
  expect(first).toMatchObject({ status: 200, body: { ok: true, agent: expect.anything() } })
  expect(first.body['ca_pem']).toContain('BEGIN CERTIFICATE')
  const again = await internal('POST', '/internal/agents/register', { name: 'second' })
  expect(again.body['proxy_port']).toBe(first.body['proxy_port'])
  const second = testAgent(laptop, String(first.body['proxy_url']))
  expect((await second.send(ISSUE)).status).toBe(201)
  expect(await rowsOf('/internal/agents', 'agents')).toContainEqual(
    expect.objectContaining({ name: 'second', status: 'active' }),
  )
  expect((await internal('POST', '/internal/agents/deregister', { name: 'second' })).status).toBe(200)
  await expect(second.send(ISSUE)).rejects.toThrow(/ECONNREFUSED/)
})

test('the enforcement level is changed, the reply has the previous one, and the new one applies at once', async () => {
  const before = vendors.recorder.seen.length
  const lowered = await internal('POST', '/internal/enforcement', { level: 'monitor', reason: 'trial' })
  expect(lowered).toMatchObject({
    ...{ status: 200, body: { ok: true, level: 'monitor', previous: 'full_enforce' } },
  })
  expect((await internal('GET', '/internal/status')).body['enforcement_level']).toBe('monitor')
  expect((await agent.send(DELETE_BRANCH)).status).toBe(200)
  expect(vendors.recorder.seen.length).toBe(before + 1)
  const newest = (await rowsOf('/internal/traffic?limit=1', 'traffic'))[0]
  expect(newest).toMatchObject({ action_type: 'codehost.branch.delete', decision: 'ALLOW', would: 'DENY' })
  await internal('POST', '/internal/enforcement', { level: 'full_enforce' })
  expect((await agent.send(DELETE_BRANCH)).status).toBe(403)
  expect(vendors.recorder.seen.length).toBe(before + 1)
})

test.each(['all', 'agent:dev', 'connector:codehost', 'gateway:local', 'dev', 'codehost'])(
  'the kill switch with scope %s stops the next request, is reported, and is lifted',
  async (scope) => {
    const before = vendors.recorder.seen.length
    const body = { active: true, scope, reason: 'drill' }
    const on = await internal('POST', '/internal/kill-switch', body)
    expect(on).toMatchObject({
      ...{ status: 200, body: { ok: true, active: true, scope } },
    })
    expect(on.body['effective']).toMatchObject([{ scope, reason: 'drill' }])
    const stopped = await agent.json(ISSUE)
    expect(stopped).toMatchObject({ status: 403, body: { error: 'Kill switch active: drill' } })
    expect(vendors.recorder.seen.length).toBe(before)
    expect(await scrape()).toContain(`svc_kill_switch_active{scope="${scope}"} 1`)
    const off = await internal('POST', '/internal/kill-switch', { active: false, scope })
    expect(off.body['effective']).toEqual([])
    expect((await agent.send(ISSUE)).status).toBe(201)
    expect(await scrape()).toContain(`svc_kill_switch_active{scope="${scope}"} 0`)
  },
)

test('every kind of refusal and upstream failure that an agent can bring about is counted under its own label', async () => {
  expect((await agent.send(CLOSE)).status).toBe(403)
  expect((await agent.send({ ...ISSUE, target: '/repos/acme%2Fsite/issues' })).status).toBe(400)
  expect((await agent.json({ method: 'GET', host: 'nobody.example', target: '/' })).status).toBe(403)
  for (const status of [401, 429, 503]) {
    vendors.recorder.answerWith((request, response) => {
      request.resume()
      response.writeHead(status, { 'content-length': '0' }).end()
    })
    expect((await agent.send(ISSUE)).status).toBe(status)
  }
  const text = await eventually('the counts', async () => {
    const now = await scrape()
    return now.includes('error_type="500"') && now.includes('reason="unknown_host"') ? now : null
  })
  const both = 'agent="dev",connector="codehost"'
  for (const line of [
    `svc_requests_total\\{${both},decision="allow",action_type="codehost\\.issue\\.create"\\} [1-9]`,
    `svc_requests_total\\{${both},decision="deny",action_type="codehost\\.branch\\.delete"\\} [1-9]`,
    ...['permission', 'policy', 'kill_switch', 'approval_denied'].map(
      (reason) => `svc_requests_denied_total\\{${both},reason="${reason}"\\} [1-9]`,
    ),
    'svc_requests_denied_total\\{agent="dev",connector="[^"]*",reason="ambiguous"\\} [1-9]',
    'svc_requests_denied_total\\{agent="dev",connector="[^"]*",reason="unknown_host"\\} [1-9]',
    `svc_requests_approved_total\\{${both}\\} 1`,
    `svc_request_duration_seconds_count\\{${both}\\} [1-9]`,
    `svc_request_duration_seconds_bucket\\{${both},le="\\+Inf"\\} [1-9]`,
    `svc_proxy_overhead_seconds_count\\{${both}\\} [1-9]`,
    'svc_active_connections\\{agent="dev"\\} \\d',
    'svc_approvals_pending 0',
    ...['401', '429', '500'].map(
      (type) => `svc_connector_errors_total\\{connector="codehost",error_type="${type}"\\} 1`,
    ),
    `svc_would_block_total\\{${both},outcome="deny"\\} 1`,
  ]) {
    expect(text).toMatch(new RegExp(`^${line}`, 'm'))
  }
  const own = await scrape('/internal/metrics')
  for (const line of [
    'svc_traffic_total [1-9]',
    'svc_traffic_latency_ms_count [1-9]',
    'svc_processes_active 1',
  ])
    expect(own).toMatch(new RegExp(`^${line}`, 'm'))
  expect(own).toMatch(/^svc_connectors_total 7$/m)
  expect(own).toMatch(/^svc_gateway_uptime_seconds \d/m)
})
