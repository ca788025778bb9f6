import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../controlplane/config.ts'
import { accessOf } from '../../../controlplane/features/oidc/access.ts'
import { at, caller, register } from '../routes/start.ts'
import { CLIENT_SECRET, startIdentityProvider } from './identity-provider.ts'
import { CONFIG_REQUIRED, GROUPS, type OidcStage, startOidcStage } from './stage.ts'

const GOOD = {
  ...CONFIG_REQUIRED,
  OIDC_ISSUER: 'https://idp.example.com/realms/a',
  OIDC_CLIENT_ID: 'chaperone',
  OIDC_GROUPS: JSON.stringify(GROUPS),
}
const table = () => readConfig(GOOD).oidc?.groups ?? new Map()

describe('the settings', () => {
  test('of a provider are read whole', () => {
    expect(readConfig(GOOD).oidc).toMatchObject({
      ...{ issuer: GOOD.OIDC_ISSUER, clientId: 'chaperone', clientSecretFile: null },
      ...{ scopes: ['openid', 'profile', 'email'], groupsClaim: 'groups', name: 'idp.example.com' },
    })
    expect(readConfig(CONFIG_REQUIRED)).toMatchObject({ oidc: null, isPasswordOn: true })
  })

  test.each([
    [{ OIDC_ISSUER: 'http://idp.example.com' }, /OIDC_ISSUER.*https/],
    [{ OIDC_ISSUER: 'https://u:p@idp.example.com' }, /OIDC_ISSUER/],
    [{ OIDC_ISSUER: 'https://idp.example.com/?a=b' }, /OIDC_ISSUER/],
    [{ OIDC_ISSUER: 'idp' }, /OIDC_ISSUER/],
    [{ OIDC_CLIENT_ID: '' }, /OIDC_ISSUER is set without OIDC_CLIENT_ID/],
    [{ OIDC_SCOPES: 'profile' }, /lacks openid/],
    [{ OIDC_GROUPS: '' }, /OIDC_GROUPS/],
    [{ OIDC_GROUPS: '{' }, /OIDC_GROUPS/],
    [{ OIDC_GROUPS: '{}' }, /no group a role/],
    [{ OIDC_GROUPS: '{"a": {"role": "owner"}}' }, /a\.role: must be admin, member or viewer/],
    [{ OIDC_GROUPS: '{"a": {"rolle": "admin"}}' }, /rolle/],
    [{ OIDC_GROUPS: '{"a": {"role": "admin", "namespaces": []}}' }, /namespaces/],
    [{ OIDC_GROUPS: '{"a": {"namespaces": ["x"]}, "b": {"role": "admin"}}' }, /namespaces require a role/],
    [{ OIDC_GROUPS: '{"a": {"approverGroups": ["x"]}}' }, /no group a role/],
  ])('%j are refused, with what to set', (change, message) => {
    expect(() => readConfig({ ...GOOD, ...change })).toThrow(message)
  })

  test('without a password and a provider are refused', () => {
    expect(() => readConfig({ ...CONFIG_REQUIRED, SIGN_IN: 'oidc' })).toThrow(/no user could sign in/)
  })
})

describe('the access of groups', () => {
  test.each([
    [[], null],
    [['oncall'], null],
    [['unknown', '__proto__', 'constructor'], null],
    [['auditors'], { role: 'viewer', approverGroups: [], namespaces: null, lowerRoles: [] }],
    [
      ['team-a', 'team-b'],
      {
        ...{ role: 'member', approverGroups: ['team-a'], lowerRoles: [] },
        namespaces: ['team-a', 'team-a-staging', 'team-b'],
      },
    ],
    [
      ['auditors', 'team-b-leads', 'oncall'],
      {
        ...{ role: 'admin', approverGroups: ['oncall'], namespaces: ['team-b'] },
        lowerRoles: [{ role: 'viewer', namespaces: null }],
      },
    ],
    [
      ['team-a', 'team-b-leads'],
      {
        ...{ role: 'admin', approverGroups: ['team-a'], namespaces: ['team-b'] },
        lowerRoles: [{ role: 'member', namespaces: ['team-a', 'team-a-staging'] }],
      },
    ],
    [
      ['platform-admins', 'team-b-leads'],
      { role: 'admin', approverGroups: ['security', 'sre'], namespaces: null, lowerRoles: [] },
    ],
  ])('%j is %j', (groups, access) => {
    expect(accessOf(groups, table())).toEqual(access)
  })
})

describe('without passwords', () => {
  let stage: OidcStage
  let folder: string
  let plane: Awaited<ReturnType<OidcStage['here']['another']>>
  let before: Record<string, string>

  beforeAll(async () => {
    stage = await startOidcStage()
    folder = await mkdtemp(join(tmpdir(), 'chaperone-oidc-'))
    await writeFile(join(folder, 'secret'), CLIENT_SECRET)
    await register(stage.here.plane.call, 'owner@example.com')
    const signedIn = await stage.here.plane.call('POST', '/api/auth/login', {
      email: 'owner@example.com',
      password: 'correct horse battery',
    })
    before = { cookie: signedIn.headers.get('set-cookie')?.split(';')[0] ?? '' }
    plane = await stage.here.another({
      ...{
        OIDC_ISSUER: stage.idp.issuer,
        OIDC_CLIENT_ID: 'chaperone',
        OIDC_CLIENT_SECRET_FILE: join(folder, 'secret'),
      },
      ...{ OIDC_GROUPS: JSON.stringify(GROUPS), SIGN_IN: 'oidc' },
    })
  })
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('no user signs in, registers or continues with a password, and the answer names the provider', async () => {
    const login = { email: 'owner@example.com', password: 'correct horse battery' }
    const answers = [
      await plane.call('POST', '/api/auth/login', login),
      await register(plane.call, 'new@example.com'),
    ]
    for (const answer of answers) {
      expect(answer.status).toBe(403)
      expect(at(answer.body, 'message')).toContain('identity provider')
    }
    expect((await caller(plane.url, before)('GET', '/api/auth/me')).status).toBe(401)
    expect((await caller(stage.here.plane.url, before)('GET', '/api/auth/me')).status).toBe(200)
  })

  test('users of the provider go on, and an installation without the provider ends their sessions', async () => {
    const bea = await stage.signIn('bea')
    const headers = { cookie: bea.answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
    expect((await caller(plane.url, headers)('GET', '/api/auth/me')).status).toBe(200)
    const without = await stage.here.another({ OIDC_ISSUER: '' })
    expect((await caller(without.url, headers)('GET', '/api/auth/me')).status).toBe(401)
    expect((await without.call('POST', '/api/auth/oidc/start', { challenge: 'A'.repeat(43) })).status).toBe(
      404,
    )
  })

  test('the last owner who can sign in stays one who can, also where others have a password', async () => {
    const [ada, bea] = [await stage.signIn('ada'), await stage.signIn('bea')]
    const [adaBefore, beaBefore] = [stage.idp.accounts.get('ada'), stage.idp.accounts.get('bea')]
    const own = "email in ('ada@example.com', 'bea@example.com')"
    await stage.here.sql(`update users set role = 'owner' where ${own}`)
    for (const sub of ['ada', 'bea'])
      stage.idp.accounts.set(sub, { ...stage.idp.accounts.get(sub), sub, groups: [] })
    const me = async ({ answer }: typeof ada) => {
      const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
      return (await caller(plane.url, { cookie })('GET', '/api/auth/me')).status
    }
    await stage.fiveMinutesLater()
    // Another owner is left at the first one, none at the second.
    expect([await me(ada), await me(bea)]).toEqual([401, 200])
    await stage.fiveMinutesLater()
    expect(await me(bea)).toBe(200)
    await stage.here.sql(`update users set role = 'member' where ${own}`)
    for (const account of [adaBefore, beaBefore]) if (account) stage.idp.accounts.set(account.sub, account)
  })

  test('another provider gets no token of the former one, and ends its sessions at the next confirmation', async () => {
    await using other = await startIdentityProvider()
    const bea = await stage.signIn('bea')
    const headers = { cookie: bea.answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
    const next = await stage.here.another({ OIDC_ISSUER: other.issuer, OIDC_CLIENT_SECRET_FILE: '' })
    other.serve(`${next.url}/api/auth/oidc/callback`)
    await stage.fiveMinutesLater()
    expect((await caller(next.url, headers)('GET', '/api/auth/me')).status).toBe(401)
    expect(other.calls).toEqual([])
    const ended = await stage.here.sql(
      "select tokens from user_identities i join users u on u.id = i.user_id where u.email = 'bea@example.com'",
    )
    expect(ended).toEqual([{ tokens: null }])
  })

  test('an owner link makes no second owner', async () => {
    const bea = await stage.signIn('bea')
    const answer = await bea.call('POST', '/api/auth/owner', { setup_token: 'x'.repeat(43) })
    expect(answer.status).toBe(403)
    expect((await bea.read('POST', '/api/auth/owner', { setup_token: 'x'.repeat(43) })).status).toBe(403)
    expect((await stage.here.admin('POST', '/api/auth/owner', { setup_token: 'x' })).status).toBe(403)
  })
})
