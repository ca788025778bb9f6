import { createECDH } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startOidcStage } from '../oidc/stage.ts'
import { exchange, fragmentOf } from '../oidc/visitor.ts'
import { readOperations } from '../openapi/document.ts'
import { startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { type Answer, at, type Call, caller, PASSWORD, register } from '../routes/start.ts'

let here: TestInstallation
let owner: Call

beforeAll(async () => {
  here = await startTestInstallation()
  await register(here.plane.call, 'owner@example.com')
  owner = await here.plane.signIn('owner@example.com')
})
afterAll(() => here?.[Symbol.asyncDispose]())

const POLICY = 'rules: [{ name: a, decision: deny }]\n'
const walked = new Set<string>()

/** One change, and the events that it has left; the answer is a success. */
async function change(
  method: string,
  path: string,
  body?: unknown,
  by: Call = owner,
  { sql }: Pick<TestInstallation, 'sql'> = here,
): Promise<{ answer: Answer; events: { event_type: string; user_id: string | null; details: unknown }[] }> {
  const [last] = await sql('select coalesce(max(id), 0) as id from audit_events')
  const answer = await by(method, path, body)
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBe(200)
  walked.add(`${method} ${path.split('?')[0]}`)
  const events = await sql(
    'select event_type, user_id, details from audit_events where id > $1 order by id',
    [last?.['id']],
  )
  return { answer, events: events as never }
}

async function types(...given: Parameters<typeof change>): Promise<string[]> {
  return (await change(...given)).events.map((event) => event.event_type)
}

describe('every change over the dashboard leaves its events, and no others', () => {
  test('users', async () => {
    const users = '/api/dashboard/users'
    expect(
      await types('POST', users, { action: 'invite', email: 'new@example.com', role: 'member' }),
    ).toHaveLength(1)
    const { body: listed } = await owner('GET', users)
    const [invitation] = at<{ id: string; email: string }[]>(listed, 'invitations')
    expect(invitation?.email).toBe('new@example.com')
    const revoke = { action: 'revoke_invitation', invitation_id: invitation?.id }
    expect((await change('POST', users, revoke)).events).toMatchObject([
      { event_type: 'user.role_changed', details: { change: 'invitation_revoked', from: 'member' } },
    ])
    expect((await owner('POST', users, revoke)).status).toBe(404)
    const { answer } = await change('POST', users, {
      action: 'invite',
      email: 'b@example.com',
      role: 'member',
    })
    const invite_token = at(answer.body, 'invite_token')
    const registered = { email: 'b@example.com', password: PASSWORD, name: 'B', invite_token }
    const made = await change('POST', '/api/auth/register', registered, here.plane.call)
    expect(made.events).toMatchObject([{ event_type: 'user.registered', details: { role: 'member' } }])
    const user_id = at(made.answer.body, 'user', 'id')
    const act = (action: string, extra = {}) => types('POST', users, { action, user_id, ...extra })
    expect(await act('change_role', { role: 'admin' })).toEqual(['user.role_changed'])
    expect(await act('change_role', { role: 'admin' })).toEqual([])
    expect(await act('suspend')).toEqual(['user.suspended'])
    expect(await act('suspend')).toEqual([])
    expect(await act('activate')).toEqual(['user.activated'])
    expect(await act('set_groups', { groups: ['ops'] })).toEqual(['user.role_changed'])
    // With users there is no link any more, and nothing changes.
    expect(await types('POST', '/api/auth/owner-link', {})).toEqual([])
    const key = await change('POST', '/api/auth/keys', {})
    expect(key.events).toMatchObject([{ event_type: 'user.key_created', details: { name: null } }])
    const own = at(await owner('GET', '/api/auth/me').then(({ body }) => body), 'user', 'id')
    expect(await types('POST', users, { action: 'create_key', user_id: own })).toEqual(['user.key_created'])
    expect(await types('DELETE', `/api/auth/keys?id=${at(key.answer.body, 'id')}`)).toEqual([
      'user.key_revoked',
    ])
    const push = '/api/dashboard/push-subscriptions'
    const point = createECDH('prime256v1').generateKeys('base64url')
    const subscription = { keys: { p256dh: point, auth: Buffer.alloc(16).toString('base64url') } }
    const endpoint = 'https://fcm.googleapis.com/fcm/send/canary'
    const browser = await change('POST', push, { endpoint, ...subscription })
    expect(browser.events).toMatchObject([
      { event_type: 'push_subscription.created', details: { host: 'fcm.googleapis.com' } },
    ])
    expect(await types('DELETE', `${push}?id=${at(browser.answer.body, 'id')}`)).toEqual([
      'push_subscription.deleted',
    ])
    const login = { email: 'b@example.com', password: PASSWORD }
    const signedIn = await change('POST', '/api/auth/login', login, here.plane.call)
    expect(signedIn.events).toMatchObject([{ event_type: 'user.login', user_id }])
    const bySession = (answer: Answer) =>
      caller(here.plane.url, { cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' })
    const passwords = { current_password: PASSWORD, new_password: `${PASSWORD} 2` }
    const renewed = await change('POST', '/api/auth/password', passwords, bySession(signedIn.answer))
    expect(renewed.events).toEqual([
      { event_type: 'user.password_changed', user_id, details: { email: 'b@example.com' } },
    ])
    // The admin token is nobody who has one.
    const refused = await here.admin('POST', '/api/auth/password', passwords)
    expect([refused.status, refused.body['message']]).toEqual([403, expect.stringContaining('no password')])
    expect(await types('POST', '/api/auth/logout', undefined, bySession(renewed.answer))).toEqual([
      'user.logout',
    ])
  })

  test('agents', async () => {
    const agents = '/api/dashboard/agents'
    const body = { name: 'one', runtime: 'x', environment: 'staging' }
    const made = await change('POST', agents, body)
    expect(made.events).toMatchObject([{ event_type: 'agent.registered', details: { name: 'one' } }])
    const agent_id = at(made.answer.body, 'agent_id')
    const patch = (fields: object) => types('PATCH', agents, { agent_id, ...fields })
    expect(await patch({ action: 'suspend' })).toEqual(['agent.suspended'])
    expect(await patch({ action: 'activate' })).toEqual(['agent.activated'])
    expect(await patch({ action: 'rotate_key' })).toEqual(['agent.updated'])
    expect(await patch({ runtime: 'y' })).toEqual(['agent.updated'])
    expect(await patch({ action: 'revoke' })).toEqual(['agent.revoked'])
    expect(await patch({ action: 'revoke' })).toEqual([])
  })

  test('policies', async () => {
    const policies = '/api/dashboard/policies'
    // A text that is only looked at leaves nothing behind.
    expect(await types('POST', `${policies}/check`, { policyYaml: POLICY })).toEqual([])
    expect(await types('POST', `${policies}/replay`, { policyYaml: POLICY })).toEqual([])
    const made = await change('POST', policies, { name: 'p', policyYaml: POLICY })
    expect(made.events).toMatchObject([{ event_type: 'policy.created', details: { name: 'p', version: 1 } }])
    const policy_id = at(made.answer.body, 'policy_id')
    const patch = (fields: object) => types('PATCH', policies, { policy_id, ...fields })
    expect(await patch({ enabled: false })).toEqual(['policy.disabled'])
    expect(await patch({ enabled: false })).toEqual([])
    expect(await patch({ enabled: true })).toEqual(['policy.enabled'])
    expect(await patch({ policyYaml: `${POLICY}# more\n` })).toEqual(['policy.updated'])
    expect(await types('DELETE', `${policies}?policy_id=${policy_id}`)).toEqual(['policy.deleted'])
  })

  test('sign-in through an identity provider, and its first owner', async () => {
    await using stage = await startOidcStage()
    const { plane } = stage.here
    const challenge = 'A'.repeat(43)
    const start = await change('POST', '/api/auth/oidc/start', { challenge }, plane.call, stage.here)
    expect(start.events).toEqual([])
    const { end, secret } = await stage.walk('bea')
    const code = fragmentOf(end).code ?? ''
    let page: Call = plane.call
    const exchanged: Call = async () => {
      const signedIn = await exchange(plane.url, plane.call, { code, secret })
      page = signedIn.call
      return signedIn.answer
    }
    const login = await change('POST', '/api/auth/oidc/exchange', { code, secret }, exchanged, stage.here)
    expect(login.events).toMatchObject([
      { event_type: 'user.login', details: { email: 'bea@example.com', via: 'identity_provider' } },
    ])
    const { body } = await stage.here.admin('POST', '/api/auth/owner-link', {})
    const setup_token = new URL(String(body['owner_link'])).searchParams.get('token')
    const redeemed = await change('POST', '/api/auth/owner', { setup_token }, page, stage.here)
    expect(redeemed.events).toMatchObject([
      { event_type: 'user.role_changed', details: { from: 'member', to: 'owner', change: 'owner_link' } },
    ])
  })

  test('gateways, connectors and permissions', async () => {
    const gateway = '/api/dashboard/gateway'
    const wizard = await change('POST', gateway, {
      gateway: { name: 'edge' },
      agent: { name: 'w', create: true },
    })
    expect(wizard.events.map((event) => event.event_type).toSorted()).toEqual([
      'agent.registered',
      'gateway.created',
    ])
    const gateway_id = at(wizard.answer.body, 'gateway_id')
    const level = await change('PATCH', gateway, { gateway_id, enforcementLevel: 'monitor', reason: 'trial' })
    expect(level.events).toMatchObject([
      {
        event_type: 'gateway.updated',
        details: { change: 'enforcement', level: 'monitor', reason: 'trial' },
      },
    ])
    const connectors = '/api/dashboard/connectors'
    const added = await change('POST', connectors, { type: 'chat', token: 'xoxb-canary' })
    expect(added.events).toMatchObject([
      { event_type: 'gateway.updated', details: { change: 'connector.added' } },
    ])
    const id = at(added.answer.body, 'id')
    const credentials = '/api/dashboard/credentials'
    expect(await types('PUT', credentials, { name: 'later', secret: 'canary' })).toEqual(['gateway.updated'])
    expect(await types('DELETE', `${credentials}?name=later`)).toEqual(['gateway.updated'])
    expect(await types('DELETE', `${connectors}?connector_id=${id}`)).toEqual(['gateway.updated'])
    const permissions = '/api/dashboard/permissions'
    const rule = { gateway_name: 'edge', connector_type: 'chat', action_pattern: 'chat.*', decision: 'allow' }
    const set = await change('POST', permissions, rule)
    expect(set.events).toMatchObject([
      { event_type: 'gateway.updated', details: { change: 'permission.set' } },
    ])
    const permission = at(set.answer.body, 'id')
    expect(await types('DELETE', `${permissions}?permission_id=${permission}`)).toEqual(['gateway.updated'])
    const setup = await change('POST', '/api/dashboard/setup', {
      agent: { name: 'quick', runtime: 'x', environment: 'staging' },
      connectors: [{ type: 'payments', token: 'sk_canary', accessRule: 'allow_all' }],
    })
    expect(setup.events.map((event) => event.event_type).toSorted()).toEqual([
      'agent.registered',
      'gateway.updated',
      'gateway.updated',
    ])
  })

  test('settings, kill switch, export, import', async () => {
    const put = (settings: object) => change('PUT', '/api/dashboard/settings', { settings })
    expect((await put({ codehost_pat: 'ghp_canary', chat_channel_id: 'C1' })).events).toMatchObject([
      { event_type: 'settings.updated', details: { keys: ['chat_channel_id', 'codehost_pat'] } },
    ])
    expect((await put({ codehost_pat: '********' })).events).toEqual([])
    const channels = '/api/dashboard/notification-channels'
    const webhook = { name: 'webhook', settings: { url: 'http://127.0.0.1:9/canary' } }
    expect((await change('PUT', channels, webhook)).events).toMatchObject([
      { event_type: 'settings.updated', details: { keys: ['channel_webhook'] } },
    ])
    const tested = await change('POST', `${channels}/test`, { name: 'webhook' })
    const details = { change: 'channel.tested', channel: 'webhook', ok: false }
    expect(tested).toMatchObject({
      ...{ events: [{ event_type: 'settings.updated', details }], answer: { body: { ok: false } } },
    })
    expect(await types('PUT', channels, { ...webhook, settings: null })).toEqual(['settings.updated'])
    const kill = '/api/dashboard/kill-switch'
    const on = await change('POST', kill, { active: true, reason: 'drill', scope: 'agent:quick' })
    expect(on.events).toMatchObject([
      { event_type: 'kill_switch.activated', details: { scope: 'agent:quick', reason: 'drill' } },
    ])
    expect(await types('POST', kill, { active: false, scope: 'agent:quick' })).toEqual([
      'kill_switch.deactivated',
    ])
    expect(await types('GET', '/api/dashboard/export')).toEqual(['config.exported'])
    expect(await types('POST', '/api/dashboard/import', { version: '1.0' })).toEqual(['config.imported'])
    const demo = await types('POST', '/api/dashboard/demo-action', { scenario: 2 })
    expect(demo).toEqual(['agent.registered', 'action.requested', 'action.denied'])
    expect(await types('POST', '/api/dashboard/settings/webhook-secret')).toEqual(['settings.updated'])
    expect(await types('POST', '/api/dashboard/signing-keys', { action: 'rotate' })).toEqual([
      'settings.updated',
    ])
  })

  test('reading leaves none', async () => {
    for (const { method, path, security, parameters } of await readOperations(here.plane.call)) {
      if (method !== 'GET' || path === '/api/dashboard/export' || !security.includes('session')) continue
      if (parameters.some(({ required }) => required)) continue
      const [last] = await here.sql('select max(id) as id from audit_events')
      await owner(method, path)
      expect(
        await here.sql('select event_type from audit_events where id > $1', [last?.['id']]),
        path,
      ).toEqual([])
    }
  })

  test('this walk has taken every route that changes something', async () => {
    const writes = (await readOperations(here.plane.call))
      .filter(({ method, path }) => method !== 'GET' && /^\/api\/(dashboard|auth)\//.test(path))
      .map(({ method, path }) => `${method} ${path}`)
      // Tested where holds, deliveries, gateways and authorization servers are: they need one.
      .filter(
        (name) =>
          !/proxy-approvals|dashboard\/grants|\/notifications|push-subscriptions\/test|credentials\/(test|rotate)/.test(
            name,
          ),
      )
    expect(writes.filter((name) => !walked.has(name))).toEqual([])
  })
})
