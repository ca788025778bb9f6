import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at, caller, register } from '../routes/start.ts'
import { type OidcStage, startOidcStage } from './stage.ts'
import { fragmentOf, type SignedIn } from './visitor.ts'

let stage: OidcStage
const users = () => stage.here.sql('select email, role, groups, namespaces, status from users order by email')
const me = async (call: Awaited<ReturnType<OidcStage['signIn']>>['read']) => {
  const { status, body } = await call('GET', '/api/auth/me')
  return status === 200 ? at<Record<string, unknown>>(body, 'user') : status
}

beforeAll(async () => {
  stage = await startOidcStage()
  await register(stage.here.plane.call, 'owner@example.com')
})
afterAll(() => stage?.[Symbol.asyncDispose]())

describe('the first sign-in through the provider', () => {
  test('makes the user with the role, approver groups and namespaces of their groups', async () => {
    const ada = await stage.signIn('ada')
    expect(ada.answer.body).toMatchObject({
      ok: true,
      user: { email: 'ada@example.com', role: 'admin' },
      page_secret: expect.stringMatching(/^[\w-]{43}$/),
    })
    expect(ada.answer.headers.getSetCookie()[0]).toMatch(
      /^svc_session=[\w-]{43}; Path=\/; .*HttpOnly; SameSite=Lax$/,
    )
    await stage.signIn('bea')
    await stage.signIn('cleo')
    expect(await users()).toEqual([
      expect.objectContaining({
        email: 'ada@example.com',
        role: 'admin',
        groups: ['security', 'sre'],
        namespaces: null,
      }),
      expect.objectContaining({
        ...{ email: 'bea@example.com', role: 'member', groups: ['oncall', 'team-a'] },
        namespaces: ['team-a', 'team-a-staging'],
      }),
      // A viewer everywhere, but an admin of one namespace: the admin does not become one everywhere.
      expect.objectContaining({
        email: 'cleo@example.com',
        role: 'admin',
        groups: [],
        namespaces: ['team-b'],
      }),
      expect.objectContaining({ email: 'owner@example.com', role: 'owner' }),
    ])
  })

  test('begins a session of a page, which writes with its secret only, and is in the audit log', async () => {
    const ada = await stage.signIn('ada')
    expect(await me(ada.read)).toMatchObject({ restriction: 'page_secret' })
    expect(await me(ada.call)).toMatchObject({ email: 'ada@example.com', restriction: null })
    const invite = { action: 'invite', email: 'x@example.com', role: 'viewer' }
    expect((await ada.read('POST', '/api/dashboard/users', invite)).status).toBe(403)
    expect((await ada.call('POST', '/api/dashboard/users', invite)).status).toBe(200)
    const events = await stage.here.sql(
      "select details from audit_events where event_type in ('user.login', 'user.registered') and details->>'via' = 'identity_provider'",
    )
    expect(events.length).toBeGreaterThanOrEqual(5)
  })

  test('of a user without a mapped group is refused, and makes no user', async () => {
    const { end } = await stage.walk('dan')
    expect(fragmentOf(end)).toEqual({ code: null, error: 'no_access' })
    expect((await users()).map(({ email }) => email)).not.toContain('dan@example.com')
  })

  test('identifies the user by issuer and subject, not by e-mail address', async () => {
    const before = await users()
    stage.idp.accounts.set('ada', {
      ...stage.idp.accounts.get('ada'),
      sub: 'ada',
      email: 'renamed@example.com',
    })
    expect(at((await stage.signIn('ada')).answer.body, 'user', 'email')).toBe('ada@example.com')
    expect(await users()).toEqual(before)
    stage.idp.accounts.set('ada', { ...stage.idp.accounts.get('ada'), sub: 'ada', email: 'ada@example.com' })
  })

  test('stores with each confirmation whether the provider states that the stored address is verified', async () => {
    const subject = 'ivo'
    const email = 'ivo@example.com'
    const stored = async () =>
      at(
        await stage.here.sql(
          `select email_verified from user_identities i join users u on u.id = i.user_id where u.email = '${email}'`,
        ),
        0,
        'email_verified',
      )
    const claims = { sub: subject, email, groups: ['auditors'] }
    const cases: ReadonlyArray<readonly [boolean, object]> = [
      [false, claims],
      [true, { ...claims, email_verified: true }],
      [false, { ...claims, email_verified: 1 }],
      [true, { ...claims, email: 'Ivo@Example.com', email_verified: true }],
      // Another address is verified, and not the stored one.
      [false, { ...claims, email: 'other@example.com', email_verified: true }],
      [true, { ...claims, email_verified: 'true' }],
      [false, { ...claims, email_verified: null }],
    ]
    for (const [expected, account] of cases) {
      stage.idp.accounts.set(subject, account as { sub: string })
      await stage.signIn(subject)
      expect(await stored(), JSON.stringify(account)).toBe(expected)
    }
    const page = await stage.signIn(subject)
    stage.idp.accounts.set(subject, { ...claims, email_verified: true })
    await stage.fiveMinutesLater()
    expect((await page.call('GET', '/api/auth/me')).status).toBe(200)
    expect(await stored()).toBe(true)
  })

  test('stores no token of the provider in clear text', async () => {
    const rows = JSON.stringify(await stage.here.sql('select * from user_identities'))
    expect(rows).toContain('ciphertext')
    expect(rows).not.toMatch(/refresh"|access"/)
    expect(stage.here.plane.log()).not.toContain('secret-of-the-client')
  })

  test('offers itself: the options name the provider', async () => {
    const { call } = stage.here.plane
    const modes = { password: true, identity_provider: { name: 'Example SSO' } }
    expect((await call('GET', '/api/auth/options')).body).toEqual({ ...modes, has_credentials: false })
    for (const header of [{ cookie: 'svc_session=x' }, { authorization: 'Bearer x' }]) {
      const { body } = await call('GET', '/api/auth/options', undefined, header)
      expect(body).toEqual({ ...modes, has_credentials: true })
    }
  })
})

describe('a role that counts in some namespaces', () => {
  const PATH = '/api/dashboard/proxy-approvals'
  let held = 0
  const hold = async (agent: string) => {
    const id = `apv_limited_${held++}`
    await stage.here.sql(
      `insert into approvals (id, org_id, kind, agent, card, expires_at)
       select '${id}', id, 'hold', '${agent}', '{"action_type":"codehost.pr.merge","connector":"codehost","parameters":{},"risk_factors":[]}',
         clock_timestamp() + interval '5 min' from orgs`,
    )
    return id
  }

  test('answers requests of agents of these namespaces only, with approver keys too', async () => {
    const bea = await stage.signIn('bea')
    const [own, foreign, local] = [await hold('team-a/bot'), await hold('team-b/bot'), await hold('laptop')]
    const list = await bea.call('GET', `${PATH}?status=pending`)
    expect(at<{ id: string }[]>(list.body, 'approvals').map(({ id }) => id)).toEqual([own])
    const key = at<string>((await bea.call('POST', '/api/auth/keys', {})).body, 'api_key')
    const withKey = caller(stage.here.plane.url, { authorization: `Bearer ${key}` })
    for (const id of [foreign, local])
      for (const call of [bea.call, withKey])
        expect((await call('POST', PATH, { id, approved: true })).status).toBe(404)
    expect((await withKey('POST', PATH, { id: own, approved: true })).status).toBe(200)
    const states = await stage.here.sql(`select status from approvals where id in ('${foreign}', '${local}')`)
    expect(states).toEqual([{ status: 'pending' }, { status: 'pending' }])
  })

  test('of an admin changes nothing of the installation, reads these namespaces and activates their kill switches', async () => {
    const cleo = await stage.signIn('cleo')
    const invite = { action: 'invite', email: 'accomplice@example.com', role: 'admin' }
    const refused = await cleo.call('POST', '/api/dashboard/users', invite)
    expect([refused.status, refused.text]).toEqual([
      403,
      expect.stringContaining('the role admin in all namespaces; you have it in team-b'),
    ])
    const { status, body } = await cleo.call('GET', '/api/dashboard/policies')
    expect([status, at(body, 'policies')]).toEqual([200, []])
    expect((await cleo.call('POST', '/api/dashboard/policies', {})).status).toBe(403)
    expect((await cleo.call('GET', '/api/dashboard/overview')).status).toBe(200)
    const set = async (call: typeof cleo.call, active: boolean, scope: string) =>
      (await call('POST', '/api/dashboard/kill-switch', { active, scope, reason: 'test' })).status
    for (const scope of ['all', 'agent:team-a/bot', 'bot'])
      expect(await set(cleo.call, true, scope)).toBe(403)
    const ada = await stage.signIn('ada')
    for (const call of [ada.call, cleo.call]) expect(await set(call, true, 'namespace:team-b')).toBe(200)
    await set(cleo.call, false, 'namespace:team-b')
    // Each latches for itself.
    const left = await stage.here.sql("select source from kill_switches where scope = 'namespace:team-b'")
    expect(left).toEqual([{ source: 'dashboard' }])
    expect(await set(ada.call, false, 'namespace:team-b')).toBe(200)
  })
})

describe('roles that count in different namespaces', () => {
  const gateway = (namespace: string) =>
    stage.here.sql(
      `insert into gateways (id, org_id, name, spec, source)
       select 'gw_${namespace}', id, '${namespace}/edge', '{}', 'kubernetes' from orgs on conflict do nothing`,
    )
  const hold = (id: string, agent: string, groups: readonly string[]) =>
    stage.here.sql(
      `insert into approvals (id, org_id, kind, agent, card, required_groups, expires_at)
       select $1, id, 'hold', $2, '{"action_type":"codehost.pr.merge","connector":"codehost","parameters":{},"risk_factors":[]}',
         $3, clock_timestamp() + interval '5 min' from orgs`,
      [id, agent, JSON.stringify(groups.map((group) => ({ policy: 'p', groups: [group], distinct: false })))],
    )
  const seen = async (call: SignedIn['call'], path: string, list: string) => {
    const { status, body } = await call('GET', `/api/dashboard/${path}`)
    return [
      status,
      at<{ name: string }[]>(body, list)
        ?.map(({ name }) => name)
        .toSorted(),
    ]
  }

  test('show a viewer of all namespaces who is an admin of one everything, and let them administer that one', async () => {
    for (const namespace of ['team-a', 'team-b']) await gateway(namespace)
    const cleo = await stage.signIn('cleo')
    const [, names] = await seen(cleo.call, 'overview', 'gateways')
    expect(names).toEqual(expect.arrayContaining(['team-a/edge', 'team-b/edge']))
    expect(await seen(cleo.call, 'gateway', 'gateways')).toEqual([200, ['team-b/edge']])
    await hold('apv_union_view', 'team-a/bot', [])
    const answer = { id: 'apv_union_view', approved: true }
    expect((await cleo.call('POST', '/api/dashboard/proxy-approvals', answer)).status).toBe(404)
    const killSwitch = { active: true, scope: 'agent:team-a/bot', reason: 'test' }
    expect((await cleo.call('POST', '/api/dashboard/kill-switch', killSwitch)).status).toBe(403)
    for (const [method, path] of [
      ['POST', 'policies'],
      ['POST', 'agents'],
      ['PUT', 'settings'],
      ['POST', 'users'],
    ] as const)
      expect((await cleo.call(method, `/api/dashboard/${path}`, {})).status, path).toBe(403)
  })

  test('give an admin of one namespace who is a member of all no right of an admin elsewhere', async () => {
    const lea = await stage.signIn('lea')
    const key = at<string>((await lea.call('POST', '/api/auth/keys', {})).body, 'api_key')
    const withKey = caller(stage.here.plane.url, { authorization: `Bearer ${key}` })
    const answer = async (call: typeof lea.call, id: string) =>
      (await call('POST', '/api/dashboard/proxy-approvals', { id, approved: true })).status
    // An approver group without members is left to admins of all namespaces.
    for (const [index, agent] of ['team-a/bot', 'team-b/bot', 'laptop'].entries()) {
      await hold(`apv_union_${index}`, agent, ['nobody-is-in-it'])
      for (const call of [lea.call, withKey]) expect(await answer(call, `apv_union_${index}`)).toBe(403)
    }
    await hold('apv_union_own', 'team-a/bot', ['responders'])
    expect(await answer(withKey, 'apv_union_own')).toBe(200)
    const setKillSwitch = async (active: boolean, scope: string) =>
      (await lea.call('POST', '/api/dashboard/kill-switch', { active, scope, reason: 'test' })).status
    expect(await setKillSwitch(true, 'agent:team-a/bot')).toBe(200)
    expect(await setKillSwitch(false, 'agent:team-a/bot')).toBe(403)
    const ada = await stage.signIn('ada')
    await ada.call('POST', '/api/dashboard/kill-switch', { active: false, scope: 'agent:team-a/bot' })
    expect((await lea.call('POST', '/api/dashboard/policies', {})).status).toBe(403)
  })

  test('end with the group that gave one of them', async () => {
    const cleo = await stage.signIn('cleo')
    stage.idp.accounts.set('cleo', {
      ...stage.idp.accounts.get('cleo'),
      sub: 'cleo',
      groups: ['team-b-leads'],
    })
    await stage.fiveMinutesLater()
    const [, names] = await seen(cleo.call, 'overview', 'gateways')
    expect(names).toEqual(['team-b/edge'])
    const account = { ...stage.idp.accounts.get('cleo'), groups: ['auditors', 'team-b-leads', 'team-b'] }
    stage.idp.accounts.set('cleo', { ...account, sub: 'cleo' })
  })
})

describe('five minutes after the last confirmation', () => {
  test('a changed group binds at the next request, with one question to the provider', async () => {
    const bea = await stage.signIn('bea')
    const account = stage.idp.accounts.get('bea')
    stage.idp.accounts.set('bea', { ...account, sub: 'bea', groups: ['auditors'] })
    stage.idp.calls.length = 0
    expect(await me(bea.call)).toMatchObject({ role: 'member' })
    expect(stage.idp.calls).toEqual([])
    await stage.fiveMinutesLater()
    const answers = await Promise.all(Array.from({ length: 8 }, () => me(bea.call)))
    for (const answer of answers) expect(answer).toMatchObject({ role: 'viewer', groups: [] })
    expect(stage.idp.calls.filter((path) => path === '/token')).toHaveLength(1)
    expect((await users()).find(({ email }) => email === 'bea@example.com')).toMatchObject({
      namespaces: null,
    })
    stage.idp.accounts.set('bea', { ...account, sub: 'bea' })
  })

  test('several replicas send one request, because a refresh token is for one use', async () => {
    const replica = await stage.here.another()
    const ada = await stage.signIn('ada')
    const cookie = ada.answer.headers.get('set-cookie')?.split(';')[0] ?? ''
    await stage.fiveMinutesLater()
    stage.idp.calls.length = 0
    const calls = [stage.here.plane, replica, stage.here.plane, replica].map(({ call }) =>
      call('GET', '/api/auth/me', undefined, { cookie }),
    )
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(stage.idp.calls.filter((path) => path === '/token')).toHaveLength(1)
  })

  test('the removal of the user ends their sessions and approver keys', async () => {
    const [bea, second] = [await stage.signIn('bea'), await stage.signIn('bea')]
    const made = await bea.call('POST', '/api/auth/keys', { name: 'pager', expires_in_days: 30 })
    const key = { authorization: `Bearer ${at(made.body, 'api_key')}` }
    const answerApproval = () =>
      stage.here.plane.call(
        'POST',
        '/api/v1/approvals/apv_00000000000000000000/respond',
        { decision: 'approve' },
        key,
      )
    expect((await answerApproval()).status).not.toBe(401)
    const account = stage.idp.accounts.get('bea')
    stage.idp.accounts.delete('bea')
    await stage.fiveMinutesLater()
    expect((await answerApproval()).status).toBe(401)
    expect([await me(bea.call), await me(second.call)]).toEqual([401, 401])
    expect((await answerApproval()).status).toBe(401)
    const [event] = await stage.here.sql(
      "select details from audit_events where event_type = 'user.access_ended' order by id desc limit 1",
    )
    expect(event).toMatchObject({ details: { reason: 'refused' } })
    if (account) stage.idp.accounts.set('bea', account)
    await stage.signIn('bea')
    expect((await answerApproval()).status).not.toBe(401)
  })

  test('the loss of every mapped group ends the session', async () => {
    const cleo = await stage.signIn('cleo')
    const account = stage.idp.accounts.get('cleo')
    stage.idp.accounts.set('cleo', { ...account, sub: 'cleo', groups: [] })
    await stage.fiveMinutesLater()
    expect(await me(cleo.call)).toBe(401)
    stage.idp.accounts.set('cleo', { ...account, sub: 'cleo' })
  })

  test('a provider that does not answer leaves the kill switch only, and ends nothing', async () => {
    const ada = await stage.signIn('ada')
    await stage.fiveMinutesLater()
    stage.idp.isUp = false
    expect(await me(ada.call)).toBe(503)
    expect(
      (
        await ada.call('POST', '/api/dashboard/users', {
          action: 'invite',
          email: 'y@example.com',
          role: 'viewer',
        })
      ).status,
    ).toBe(503)
    const killSwitch = { active: true, scope: 'agent:nobody', reason: 'test' }
    expect((await ada.call('POST', '/api/dashboard/kill-switch', killSwitch)).status).toBe(200)
    stage.idp.isUp = true
    expect(await me(ada.call)).toMatchObject({ role: 'admin' })
  })

  test('without refresh tokens UserInfo is asked', async () => {
    stage.idp.hasRefreshTokens = false
    const bea = await stage.signIn('bea')
    await stage.fiveMinutesLater()
    stage.idp.calls.length = 0
    expect(await me(bea.call)).toMatchObject({ role: 'member' })
    expect(stage.idp.calls).toContain('/me')
    const account = stage.idp.accounts.get('bea')
    stage.idp.accounts.delete('bea')
    await stage.fiveMinutesLater()
    expect(await me(bea.call)).toBe(401)
    if (account) stage.idp.accounts.set('bea', account)
    stage.idp.hasRefreshTokens = true
  })
})

describe('a user of the provider', () => {
  test('has no password here, and role and groups follow the provider', async () => {
    await stage.signIn('bea')
    const owner = await stage.here.plane.signIn('owner@example.com')
    const { body } = await owner('GET', '/api/dashboard/users')
    const bea = at<{ id: string; email: string }[]>(body, 'users').find(
      ({ email }) => email === 'bea@example.com',
    )
    const act = (action: object) => owner('POST', '/api/dashboard/users', { user_id: bea?.id, ...action })
    expect((await act({ action: 'change_role', role: 'admin' })).status).toBe(409)
    expect((await act({ action: 'set_groups', groups: ['x'] })).status).toBe(409)
    for (const password of ['', 'none', 'correct horse battery'])
      expect([400, 401]).toContain(
        (await stage.here.plane.call('POST', '/api/auth/login', { email: 'bea@example.com', password }))
          .status,
      )
    expect((await act({ action: 'suspend' })).status).toBe(200)
    expect(fragmentOf((await stage.walk('bea')).end).error).toBe('suspended')
    expect((await act({ action: 'activate' })).status).toBe(200)
  })

  test('whom an owner makes an owner keeps that, whatever the groups', async () => {
    const owner = await stage.here.plane.signIn('owner@example.com')
    const ada = await stage.signIn('ada')
    const id = at(await me(ada.call), 'id')
    const change = (role: string) =>
      owner('POST', '/api/dashboard/users', { action: 'change_role', user_id: id, role })
    expect((await change('owner')).status).toBe(200)
    const account = stage.idp.accounts.get('ada')
    stage.idp.accounts.set('ada', { ...account, sub: 'ada', groups: ['auditors'] })
    const again = await stage.signIn('ada')
    expect(await me(again.call)).toMatchObject({ role: 'owner' })
    // Another owner is left: without any group this one has no access any more.
    stage.idp.accounts.set('ada', { ...account, sub: 'ada', groups: [] })
    await stage.fiveMinutesLater()
    expect(await me(again.call)).toBe(401)
    // The last owner keeps it.
    await stage.here.sql("update users set role = 'admin' where email = 'owner@example.com'")
    const last = await stage.signIn('ada')
    await stage.fiveMinutesLater()
    expect(await me(last.call)).toMatchObject({ role: 'owner' })
    await stage.here.sql("update users set role = 'owner' where email = 'owner@example.com'")
    stage.idp.accounts.set('ada', { ...account, sub: 'ada' })
    expect((await change('admin')).status).toBe(200)
  })
})
