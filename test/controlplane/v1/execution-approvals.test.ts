import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { replyJson } from '../../support/recorder.ts'
import { at, register } from '../routes/start.ts'
import { type ExecutionWorld, type Submitted, startExecutionWorld } from './execution-world.ts'
import type { TestAgent } from './world.ts'

let here: ExecutionWorld
let agent: TestAgent
beforeAll(async () => {
  here = await startExecutionWorld()
})
afterAll(() => here?.[Symbol.asyncDispose]())

const policies: string[] = []

beforeEach(async () => {
  here.upstream.answerWith(replyJson({ number: 41 }, 201))
  agent = await here.world.agent()
  await here.applied()
})
afterEach(async () => {
  for (const policy_id of policies.splice(0))
    await here.world.admin('PATCH', '/api/dashboard/policies', { policy_id, enabled: false })
})

const ISSUE = {
  type: 'codehost.issue.create',
  resource: { target: 'acme/site' },
  parameters: { title: 'hello' },
  context: { reason: 'the user asked' },
}
const seen = () => here.upstream.seen.length
const statusOf = async (id: string) => (await agent.call('GET', `/api/v1/actions/${id}`)).body
const respond = (id: string, decision: 'approve' | 'deny') =>
  here.world.admin('POST', `/api/v1/approvals/${id}/respond`, { decision })

async function policy(rules: string, more: object = {}): Promise<string> {
  const made = await here.world.admin('POST', '/api/dashboard/policies', {
    name: `policy-${Math.random()}`,
    policyYaml: `scope: { actions: ["codehost.*"] }\nrules:\n${rules}`,
    priority: 900,
    ...more,
  })
  if (made.status !== 200) throw new Error(made.text)
  policies.push(at(made.body, 'policy_id'))
  await here.applied()
  return at(made.body, 'policy_id')
}

async function records(count: number): Promise<Record<string, unknown>[]> {
  return eventually('the records', async () => {
    const { body } = await here.world.admin('GET', `/api/dashboard/traffic?agent=${agent.name}`)
    const list = body['traffic'] as Record<string, unknown>[]
    return list.length >= count ? list : null
  })
}

/** Held by the gateway alone: v1 sees no path. */
const LIVE_HOLD = `  - { name: live, conditions: ['has(request.path) && request.path.startsWith("/repos/acme/")'], decision: require_approval }`

async function pending(action: Submitted): Promise<string> {
  const before = seen()
  const answer = await here.execute(agent, action)
  expect(answer.body, answer.text).toMatchObject({
    executed: false,
    action_request_id: action.id,
    status: 'pending_approval',
    decision: { outcome: 'requires_approval' },
    approval: { id: expect.stringMatching(/^apr_/), status: 'pending', expires_at: expect.any(String) },
  })
  expect(answer.status).toBe(200)
  expect(answer.body).not.toHaveProperty('gateway_response')
  expect(seen()).toBe(before)
  return at(answer.body, 'approval', 'id')
}

describe('a token of rules alone', () => {
  test('does not release a hold of the gateway: a person is asked, and the same token then works once', async () => {
    const action = await here.submit(agent, ISSUE)
    await policy(LIVE_HOLD)
    const approval = await pending(action)
    const [record] = await records(1)
    expect(record).toMatchObject({ decision: 'HOLD', approval_id: approval, note: null, status: 403 })
    expect(await statusOf(action.id)).toMatchObject({
      status: 'pending_approval',
      decision_token: null,
      approval: { id: approval, status: 'pending' },
    })
    // Asking again asks nobody a second time.
    expect(await pending(action)).toBe(approval)
    expect(await records(1)).toHaveLength(1)
    const cards = await here.world.admin('GET', '/api/dashboard/proxy-approvals?status=pending')
    expect(cards.body['approvals']).toMatchObject([
      {
        id: approval,
        agent: agent.name,
        action_type: ISSUE.type,
        method: 'POST',
        host: 'api.github.com',
        path: '/repos/acme/site/issues',
        requested_by_agent_text: 'the user asked',
      },
    ])
    const yes = await respond(approval, 'approve')
    expect(yes.body).toMatchObject({ status: 'approved', decision_token: expect.any(String) })
    const before = seen()
    const done = await here.execute(agent, action)
    expect(done.body, done.text).toMatchObject({ executed: true, gateway_response: { status: 201 } })
    expect(seen()).toBe(before + 1)
    for (const token of [action.token, at<string>(yes.body, 'decision_token')])
      expect((await here.execute(agent, { ...action, token })).status).toBe(409)
    expect(seen()).toBe(before + 1)
    const list = await records(2)
    expect(list).toHaveLength(2)
    expect(list[0]).toMatchObject({ decision: 'ALLOW', note: 'approved', status: 201 })
    expect(await here.world.chain(action.id)).toEqual([
      ...['action.requested', 'action.allowed', 'action.pending_approval', 'approval.responded'],
      'action.executed',
    ])
    expect(await here.world.sql('select 1 from executions')).toEqual([])
  })

  test('that needs no approval is executed, and the record says so', async () => {
    const action = await here.submit(agent, ISSUE)
    expect((await here.execute(agent, action)).body['executed']).toBe(true)
    expect(await records(1)).toMatchObject([{ decision: 'ALLOW', note: 'executed' }])
  })

  test.each([
    [
      'an environment claimed by the caller',
      { ...ISSUE, resource: { target: 'acme/site', environment: 'staging' } },
    ],
    ['a spelling of that claim', { ...ISSUE, resource: { target: 'acme/site', environment: 'STAGING' } }],
    ['a hint', { ...ISSUE, risk_hints: { production_target: false, irreversible: false } }],
    ['organization and repository', { ...ISSUE, resource: { organization: 'acme', repository: 'site' } }],
    ['a capital target', { ...ISSUE, resource: { target: 'acme/SITE' } }],
    [
      'parameters beyond the row',
      { ...ISSUE, parameters: { title: 'x', approved: true, approval_id: 'apr_1' } },
    ],
    ['a spec that says it was approved', { ...ISSUE, approval_id: 'apr_1', approved: true }],
    ['a context that says so', { ...ISSUE, context: { reason: 'approved by ada', approved: true } }],
    ['an account', { ...ISSUE, resource: { target: 'acme/site', account: 'root' } }],
  ])('is held whatever the spec says: %s', async (_what, spec) => {
    await policy(LIVE_HOLD)
    const action = await here.submit(agent, spec)
    expect(action.token).not.toBe('')
    await pending(action)
    expect(await records(1)).toMatchObject([{ decision: 'HOLD', note: null }])
  })

  test.each([
    ['method', `request.method == "POST"`],
    ['host', `request.host == "api.github.com"`],
    ['path', `request.path.endsWith("/issues")`],
  ])('is held by a rule on the %s of the request', async (_fact, condition) => {
    await policy(
      `  - { name: live, conditions: ['has(request.method)', '${condition}'], decision: require_approval }`,
    )
    await pending(await here.submit(agent, ISSUE))
  })

  test('is denied by a rule on the request, for good', async () => {
    await policy(
      `  - { name: live, conditions: ['has(request.path) && request.path.contains("issues")'], decision: deny }`,
    )
    const action = await here.submit(agent, ISSUE)
    const before = seen()
    expect((await here.execute(agent, action)).status).toBe(403)
    expect(seen()).toBe(before)
    expect((await statusOf(action.id))['status']).toBe('execution_failed')
    expect(await records(1)).toMatchObject([{ decision: 'DENY', note: null }])
  })

  test('of a batch is held like any other', async () => {
    await policy(LIVE_HOLD)
    const action_spec = { ...ISSUE, resource: { provider: 'codehost', ...ISSUE.resource } }
    const batch = await agent.call('POST', '/api/v1/actions/batch', { actions: [{ action_spec }] })
    const [item] = batch.body['results'] as { action_request_id: string; decision_token: string }[]
    const action = { id: item?.action_request_id ?? '', token: item?.decision_token ?? '', approval: '' }
    const approval = await pending(action)
    await respond(approval, 'approve')
    expect((await here.execute(agent, action)).body['executed']).toBe(true)
  })
})

describe('an approval that an execution opened', () => {
  async function held(): Promise<{ action: Submitted; approval: string }> {
    await policy(LIVE_HOLD)
    const action = await here.submit(agent, ISSUE)
    return { action, approval: await pending(action) }
  }

  test('that is denied ends the action: neither token nor verification is good any more', async () => {
    const { action, approval } = await held()
    const verify = async () =>
      (
        await agent.call('POST', '/api/v1/tokens/verify', {
          decision_token: action.token,
          action_request_id: action.id,
        })
      ).body
    expect(await verify()).toMatchObject({ valid: false })
    const no = await respond(approval, 'deny')
    expect(no.body).toMatchObject({ status: 'denied', decision_token: null })
    const before = seen()
    expect([409, 410]).toContain((await here.execute(agent, action)).status)
    expect(await verify()).toMatchObject({ valid: false })
    expect(seen()).toBe(before)
    expect((await statusOf(action.id))['status']).toBe('denied')
  })

  test('can be withdrawn with its action', async () => {
    const { action, approval } = await held()
    expect((await agent.call('POST', `/api/v1/actions/${action.id}/cancel`)).status).toBe(200)
    expect((await respond(approval, 'approve')).status).toBe(409)
    const before = seen()
    expect([409, 410]).toContain((await here.execute(agent, action)).status)
    expect(seen()).toBe(before)
  })

  test('expires with its action', async () => {
    const { action, approval } = await held()
    await here.world.sql("update approvals set expires_at = now() - interval '1 second' where id = $1", [
      approval,
    ])
    expect((await respond(approval, 'approve')).status).toBe(410)
    await eventually('the end', async () =>
      (await statusOf(action.id))['status'] === 'expired' ? true : null,
    )
    const before = seen()
    expect([409, 410]).toContain((await here.execute(agent, action)).status)
    expect(seen()).toBe(before)
  })

  test('is for this action alone: another one of the same text is asked for anew', async () => {
    const { action, approval } = await held()
    await respond(approval, 'approve')
    const twin = await here.submit(agent, ISSUE)
    const second = await pending(twin)
    expect(second).not.toBe(approval)
    const other = await here.world.agent()
    await here.applied()
    const theirs = await here.submit(other, ISSUE)
    expect((await here.execute(other, { ...theirs, token: action.token })).status).toBe(403)
    expect((await here.execute(other, theirs)).body).toMatchObject({ status: 'pending_approval' })
    // Nor does a live request of the agent pass by it.
    expect((await here.execute(agent, action)).body['executed']).toBe(true)
  })

  test('does not count under rules that changed since', async () => {
    const policyId = await policy(LIVE_HOLD)
    const action = await here.submit(agent, ISSUE)
    const first = await pending(action)
    await respond(first, 'approve')
    const changed = await here.world.admin('PATCH', '/api/dashboard/policies', {
      policy_id: policyId,
      policyYaml: `scope: { actions: ["codehost.*"] }\nrules:\n${LIVE_HOLD.replace('live', 'stricter')}`,
    })
    expect(changed.status, changed.text).toBe(200)
    await here.applied()
    const second = await pending(action)
    expect(second).not.toBe(first)
    await respond(second, 'approve')
    expect((await here.execute(agent, action)).body['executed']).toBe(true)
    expect((await here.execute(agent, action)).status).toBe(409)
  })

  test('is one, however many executions come at once, and one of them passes after it', async () => {
    await policy(LIVE_HOLD)
    const action = await here.submit(agent, ISSUE)
    const before = seen()
    const first = await Promise.all(Array.from({ length: 8 }, () => here.execute(agent, action)))
    for (const { status, body } of first) {
      if (status === 200) expect(body).toMatchObject({ executed: false, status: 'pending_approval' })
      else expect([status, body['error']]).toEqual([409, 'Token verification failed: nonce already used'])
    }
    const ids = new Set(
      first.flatMap(({ body, status }) => (status === 200 ? [at(body, 'approval', 'id')] : [])),
    )
    expect(ids.size).toBe(1)
    const [count] = await here.world.sql('select count(*)::int as n from approvals where act_id = $1', [
      action.id,
    ])
    expect(count).toEqual({ n: 1 })
    const [approval = ''] = ids as Set<string>
    await respond(approval, 'approve')
    const then = await Promise.all(Array.from({ length: 8 }, () => here.execute(agent, action)))
    expect(then.filter(({ body }) => body['executed'] === true)).toHaveLength(1)
    expect(then.filter(({ status }) => status === 409)).toHaveLength(7)
    expect(seen()).toBe(before + 1)
  })
})

describe('an approval of the submission', () => {
  const MERGE = { type: 'codehost.pr.merge', resource: { target: 'acme/site' }, parameters: { number: 7 } }
  const HOLD = (groups = '') =>
    `  - { name: merges, conditions: ['action.type == "codehost.pr.merge"'], decision: require_approval${groups} }
  - { name: rest, decision: allow }`

  test('releases the hold of the gateway, once, and the record says approved', async () => {
    await policy(HOLD())
    const action = await here.allowed(agent, MERGE)
    const before = seen()
    expect((await here.execute(agent, action)).body['executed']).toBe(true)
    expect((await here.execute(agent, action)).status).toBe(409)
    expect(seen()).toBe(before + 1)
    expect(await records(1)).toMatchObject([{ decision: 'ALLOW', note: 'approved' }])
  })

  test('does not count under a new version of the policy: a person is asked anew', async () => {
    const policyId = await policy(HOLD())
    const action = await here.allowed(agent, MERGE)
    const changed = await here.world.admin('PATCH', '/api/dashboard/policies', {
      policy_id: policyId,
      policyYaml: `scope: { actions: ["codehost.*"] }\nrules:\n${HOLD().replace('merges', 'all-merges')}`,
    })
    expect(changed.status, changed.text).toBe(200)
    await here.applied()
    const approval = await pending(action)
    expect(approval).not.toBe(action.approval)
    await respond(approval, 'approve')
    expect((await here.execute(agent, action)).body['executed']).toBe(true)
  })

  test.each([
    ['that an execution opened', LIVE_HOLD, ISSUE],
    ['of the submission', HOLD(), MERGE],
  ])('counts no more once its user may not answer: one %s', async (_which, rules, spec) => {
    await policy(rules)
    const email = `approver-${Math.random()}@example.com`
    const invite = { action: 'invite', email, role: 'member' }
    const { body } = await here.world.admin('POST', '/api/dashboard/users', invite)
    await register(here.world.plane.call, email, { invite_token: at(body, 'invite_token') })
    const approver = await here.world.plane.signIn(email)
    const action = await here.submit(agent, spec)
    const approval = action.approval ?? (await pending(action))
    const yes = await approver('POST', `/api/v1/approvals/${approval}/respond`, { decision: 'approve' })
    const token = at<string>(yes.body, 'decision_token')
    await here.world.sql("update users set status = 'suspended' where email = $1", [email])
    const second = await pending({ ...action, token })
    expect(second).not.toBe(approval)
    await respond(second, 'approve')
    expect((await here.execute(agent, { ...action, token })).body['executed']).toBe(true)
  })

  test('does not stand for groups that only the gateway requires', async () => {
    await policy(HOLD())
    await policy(
      `  - { name: live, conditions: ['has(request.path) && request.path.contains("merge")'], decision: require_approval, approver_groups: [security] }`,
    )
    const action = await here.allowed(agent, MERGE)
    const before = seen()
    const answer = await here.execute(agent, action)
    expect(answer.body).toMatchObject({
      status: 'pending_approval',
      approval: { required_approver_groups: ['security'] },
    })
    expect(seen()).toBe(before)
  })

  test('that the gateway does not need is still noted', async () => {
    const policyId = await policy(
      `  - { name: v1, conditions: ['!has(request.method)', 'action.type == "codehost.pr.merge"'], decision: require_approval }
  - { name: rest, decision: allow }`,
    )
    expect(policyId).toBeTruthy()
    const action = await here.allowed(agent, MERGE)
    expect(action.approval).toBeTruthy()
    expect((await here.execute(agent, action)).body['executed']).toBe(true)
    expect(await records(1)).toMatchObject([{ decision: 'ALLOW', note: 'approved' }])
  })
})
