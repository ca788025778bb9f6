import { generateKeyPairSync, sign } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { at, type Call, caller } from '../controlplane/routes/start.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { replyCut, replyJson } from '../support/recorder.ts'
import { SECRETS, startVendors, type Vendors } from '../support/vendors.ts'

let vendors: Vendors
let laptop: Laptop

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'vendors.yaml': `${vendors.manifests}---\n${POLICY}` },
  })
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})
beforeEach(() => vendors.recorder.answerWith(replyJson({ number: 41 }, 201)))

/** Whatever the permissions of the gateway say, v1 asks a person for merges and nobody else. */
const POLICY = `apiVersion: chaperone.dev/v1alpha1
kind: Policy
metadata: { name: executions }
spec:
  priority: 500
  scope: { actions: ["codehost.*", "payments.*"] }
  rules:
    - { name: merges, conditions: ['action.type == "codehost.pr.merge"'], decision: require_approval }
    - { name: rest, conditions: ['true'], decision: allow }
`

let agents = 0
type Agent = { readonly id: string; readonly name: string; readonly call: Call }

async function newAgent(): Promise<Agent> {
  const name = `executor-${++agents}`
  const { body } = await laptop.api('POST', '/api/dashboard/agents', {
    name,
    runtime: 'test',
    environment: 'test',
  })
  const call = caller(laptop.ready.base_url, { authorization: `Bearer ${at(body, 'api_key')}` })
  return { id: at(body, 'agent_id'), name, call }
}

const ISSUE = {
  type: 'codehost.issue.create',
  resource: { provider: 'codehost', target: 'acme/site' },
  parameters: { title: 'from a token', labels: ['a'] },
}
const MERGE = {
  type: 'codehost.pr.merge',
  resource: { provider: 'codehost', organization: 'acme', repository: 'site' },
  parameters: { number: 7, merge_method: 'squash' },
}

async function submit(agent: Agent, spec: object): Promise<{ id: string; token: string; approval: string }> {
  const { body, text } = await agent.call('POST', '/api/v1/actions', { action_spec: spec })
  if (body['status'] === 'denied') throw new Error(text)
  return {
    id: at(body, 'action_request_id'),
    token: at(body, 'decision_token'),
    approval: at(body, 'approval', 'id'),
  }
}

function execute(agent: Agent, id: string, decision_token: string) {
  return agent.call('POST', `/api/v1/actions/${id}/execute`, { decision_token })
}

async function chain(id: string): Promise<string[]> {
  const auditor = await laptop.api('POST', '/api/dashboard/agents', {
    name: `auditor-${++agents}`,
    runtime: 'test',
    environment: 'test',
    capabilities: ['audit:read'],
  })
  const call = caller(laptop.ready.base_url, { authorization: `Bearer ${at(auditor.body, 'api_key')}` })
  const page = await call('GET', '/api/v1/audit/events?limit=200')
  return (page.body['events'] as { event_type: string; action_request_id?: string }[])
    .filter((event) => event.action_request_id === id)
    .map((event) => event.event_type)
    .reverse()
}

test('an allowed action becomes one real request, with the credential that the agent never sees, and one record', async () => {
  const agent = await newAgent()
  const { id, token } = await submit(agent, ISSUE)
  const before = vendors.recorder.seen.length
  const answer = await execute(agent, id, token)
  expect(answer.body).toEqual({
    executed: true,
    action_request_id: id,
    gateway_response: { status: 201, result: { number: 41 } },
  })
  expect(answer.status).toBe(200)
  expect(vendors.recorder.seen.length).toBe(before + 1)
  const seen = vendors.recorder.seen.at(-1)
  expect([seen?.method, seen?.target]).toEqual(['POST', '/repos/acme/site/issues'])
  expect(seen?.header('authorization')).toBe(`token ${SECRETS.codehost}`)
  expect(seen?.header('host')).toBe('api.github.com')
  expect(JSON.parse(seen?.body.toString() ?? '')).toEqual({ title: 'from a token', labels: ['a'] })
  expect(seen?.rawHeaders.join('\n')).not.toContain(token)
  expect((await agent.call('GET', `/api/v1/actions/${id}`)).body).toMatchObject({
    status: 'executed',
    decision_token: null,
  })
  expect(await chain(id)).toEqual(['action.requested', 'action.allowed', 'action.executed'])
  const records = await eventually('the record', async () => {
    const { body } = await laptop.api('GET', `/api/dashboard/traffic?agent=${agent.name}`)
    const list = body['traffic'] as Record<string, unknown>[]
    return list.length > 0 ? list : null
  })
  expect(records).toHaveLength(1)
  expect(records[0]).toMatchObject({
    agent: agent.name,
    connector: 'codehost',
    action_type: 'codehost.issue.create',
    decision: 'ALLOW',
    note: 'executed',
    status: 201,
  })

  const again = await execute(agent, id, token)
  expect(again.status).toBe(409)
  expect(again.body['error']).toBe('Token verification failed: nonce already used')
  expect(vendors.recorder.seen.length).toBe(before + 1)
})

test('of 20 executes at once one reaches the upstream', async () => {
  const agent = await newAgent()
  const { id, token } = await submit(agent, ISSUE)
  const before = vendors.recorder.seen.length
  const answers = await Promise.all(Array.from({ length: 20 }, () => execute(agent, id, token)))
  expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
  expect(answers.filter((answer) => answer.status === 409)).toHaveLength(19)
  expect(vendors.recorder.seen.length).toBe(before + 1)
})

test('execute and cancel exclude each other', async () => {
  const agent = await newAgent()
  for (let i = 0; i < 12; i++) {
    const { id, token } = await submit(agent, ISSUE)
    const before = vendors.recorder.seen.length
    const [executed, cancelled] = await Promise.all([
      execute(agent, id, token),
      agent.call('POST', `/api/v1/actions/${id}/cancel`),
    ])
    const done = executed.status === 200
    expect([executed.status, cancelled.status]).toEqual(done ? [200, 409] : [409, 200])
    expect(vendors.recorder.seen.length).toBe(before + (done ? 1 : 0))
  }
})

test('an approved action is executed without anybody being asked a second time', async () => {
  const agent = await newAgent()
  const { id, approval } = await submit(agent, MERGE)
  const early = await execute(agent, id, 'x.y.z')
  expect(early.status).toBe(403)
  const yes = await laptop.api('POST', `/api/v1/approvals/${approval}/respond`, { decision: 'approve' })
  expect(yes.body).toMatchObject({
    approval_id: approval,
    status: 'approved',
    decision_token: expect.any(String),
  })
  const answer = await execute(agent, id, at(yes.body, 'decision_token'))
  expect(answer.body['executed'], answer.text).toBe(true)
  const seen = vendors.recorder.seen.at(-1)
  expect([seen?.method, seen?.target]).toEqual(['PUT', '/repos/acme/site/pulls/7/merge'])
  expect(await chain(id)).toEqual([
    'action.requested',
    'action.pending_approval',
    'approval.responded',
    'action.executed',
  ])
  const { body } = await laptop.api('GET', '/api/dashboard/proxy-approvals?status=pending')
  expect(body['approvals']).toEqual([])
})

describe('nothing reaches the upstream and the token stays good', () => {
  test('when the spec lacks what the request needs', async () => {
    const agent = await newAgent()
    const before = vendors.recorder.seen.length
    const noTarget = await submit(agent, { ...ISSUE, resource: { provider: 'codehost' } })
    const first = await execute(agent, noTarget.id, noTarget.token)
    expect([first.status, first.body['error']]).toEqual([400, 'Validation failed'])
    expect(first.body['details']).toContain('action_spec.resource.target')
    const noNumber = await submit(agent, { ...ISSUE, type: 'codehost.issue.get', parameters: {} })
    const second = await execute(agent, noNumber.id, noNumber.token)
    expect(second.status).toBe(400)
    expect(second.body['details']).toContain('action_spec.parameters.number')
    expect(vendors.recorder.seen.length).toBe(before)
    expect((await agent.call('GET', `/api/v1/actions/${noTarget.id}`)).body['decision_token']).toBe(
      noTarget.token,
    )
  })

  test('when the token is forged, or of another action or agent', async () => {
    const [agent, other] = [await newAgent(), await newAgent()]
    const [one, two] = [await submit(agent, ISSUE), await submit(agent, ISSUE)]
    const theirs = await submit(other, ISSUE)
    const before = vendors.recorder.seen.length
    const [head = '', body = ''] = one.token.split('.')
    const foreign = generateKeyPairSync('ed25519').privateKey
    const forged = `${head}.${body}.${sign(null, Buffer.from(`${head}.${body}`), foreign).toString('base64url')}`
    const wrong = [
      [forged, 'Token verification failed: invalid signature'],
      [two.token, 'Token verification failed: action mismatch'],
      [theirs.token, 'Token verification failed: action mismatch'],
      ['garbage', 'Token verification failed: malformed token'],
    ] as const
    for (const [token, error] of wrong) {
      const answer = await execute(agent, one.id, token)
      expect([answer.status, answer.body['error']]).toEqual([403, error])
    }
    expect(vendors.recorder.seen.length).toBe(before)
    expect((await execute(agent, one.id, one.token)).status).toBe(200)
  })

  test('while everything is stopped', async () => {
    const agent = await newAgent()
    const { id, token } = await submit(agent, ISSUE)
    const before = vendors.recorder.seen.length
    await laptop.cli(['kill', 'on', '--reason', 'drill'])
    const answer = await execute(agent, id, token)
    expect([answer.status, answer.body['error']]).toEqual([403, 'Kill switch active: drill'])
    expect(vendors.recorder.seen.length).toBe(before)
    await laptop.cli(['kill', 'off'])
    expect((await execute(agent, id, token)).status).toBe(200)
  })

  test('while no gateway is there: 503, and the same token works once it is back', async () => {
    const agent = await newAgent()
    const { id, token } = await submit(agent, ISSUE)
    await laptop.crash('sidecar/main')
    const done = await eventually('the execution', async () => {
      const answer = await execute(agent, id, token)
      if (answer.status !== 503 && answer.status !== 200) throw new Error(answer.text)
      return answer.status === 200 ? answer : null
    })
    expect(done.body['executed']).toBe(true)
  })
})

test('what the gateway denies wins over the token', async () => {
  const agent = await newAgent()
  const { id, token } = await submit(agent, ISSUE)
  const before = vendors.recorder.seen.length
  const denied = await laptop.api('PATCH', '/api/dashboard/agents', { agent_id: agent.id, action: 'suspend' })
  expect(denied.status).toBe(200)
  expect((await execute(agent, id, token)).status).toBe(401)
  await laptop.api('PATCH', '/api/dashboard/agents', { agent_id: agent.id, action: 'activate' })
  laptop.writeManifest('deny.yaml', DENY(agent.name))
  const url = 'https://api.github.com/repos/acme/site/issues'
  const request = new URLSearchParams({ method: 'POST', url, agent: agent.name })
  const version = await eventually('the permission', async () => {
    const { body } = await laptop.api('GET', `/api/dashboard/explain?${request}`)
    // Before its section is loaded again, the agent is denied as unknown.
    const isRule = String(at(body, 'decision', 'reason')).includes('rule "codehost.issue.create"')
    return isRule ? at<number>(body, 'snapshot_version') : null
  })
  await eventually('the gateway has it', async () => {
    const { body } = await laptop.api('GET', '/api/dashboard/gateway')
    const live = at<{ applied_version: number | null } | null>(body, 'gateways', 0, 'live')
    return (live?.applied_version ?? 0) >= version ? true : null
  })
  const answer = await execute(agent, id, token)
  expect(answer.status).toBe(403)
  expect(String(answer.body['error'])).toMatch(
    /^Execution failed: denied: Permission "[^"]+", rule "codehost.issue.create"/,
  )
  expect(vendors.recorder.seen.length).toBe(before)
  expect((await agent.call('GET', `/api/v1/actions/${id}`)).body['status']).toBe('execution_failed')
  await eventually('the record', async () => {
    const { body } = await laptop.api('GET', `/api/dashboard/traffic?agent=${agent.name}`)
    return (body['traffic'] as unknown[]).length > 0 ? true : null
  })
  expect(await chain(id)).toEqual(['action.requested', 'action.allowed', 'action.execution_failed'])
})

const DENY = (agent: string) => `apiVersion: chaperone.dev/v1alpha1
kind: Permission
metadata: { name: deny-one }
spec:
  gatewayRefs: [{ name: local }]
  agents: ['${agent}']
  rules:
    - { connectorType: codehost, actionPattern: 'codehost.issue.create', decision: deny }
`

test('a failed upstream is reported as a failure and never called again', async () => {
  const agent = await newAgent()
  for (const [answer, expected] of [
    [replyJson({ message: 'oops' }, 503), /the upstream answered 503/],
    [replyCut(), /Execution failed/],
  ] as const) {
    vendors.recorder.answerWith(answer)
    const { id, token } = await submit(agent, ISSUE)
    const before = vendors.recorder.seen.length
    const failed = await execute(agent, id, token)
    expect(failed.status).toBe(502)
    expect(String(failed.body['error'])).toMatch(expected)
    expect(vendors.recorder.seen.length).toBe(before + 1)
    expect((await execute(agent, id, token)).status).toBe(409)
    expect(vendors.recorder.seen.length).toBe(before + 1)
    expect((await agent.call('GET', `/api/v1/actions/${id}`)).body['status']).toBe('execution_failed')
    expect(await chain(id)).toEqual(['action.requested', 'action.allowed', 'action.execution_failed'])
  }
})

test('an answer of the upstream that refuses is passed on as it is', async () => {
  const agent = await newAgent()
  vendors.recorder.answerWith(replyJson({ message: 'Not Found' }, 404))
  const { id, token } = await submit(agent, ISSUE)
  const answer = await execute(agent, id, token)
  expect(answer.body).toMatchObject({
    executed: true,
    gateway_response: { status: 404, result: { message: 'Not Found' } },
  })
})
