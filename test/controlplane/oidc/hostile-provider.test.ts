import { createHmac } from 'node:crypto'
import { decodeJwt, type JWTPayload } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { register, type TestControlPlane } from '../routes/start.ts'
import { CLIENT_SECRET, type ProviderAnswer } from './identity-provider.ts'
import { type OidcStage, startOidcStage } from './stage.ts'
import { fragmentOf, isCallback, openVisitor, startSignIn } from './visitor.ts'

let stage: OidcStage
beforeAll(async () => {
  stage = await startOidcStage()
  await register(stage.here.plane.call, 'owner@example.com')
})
afterAll(() => stage?.[Symbol.asyncDispose]())
beforeEach(() => {
  stage.idp.tamper = null
})

const rights = () =>
  stage.here.sql('select email, role, groups, namespaces, status from users order by email')
const replaced = (answer: ProviderAnswer, change: object) => {
  answer.body = JSON.stringify({ ...JSON.parse(answer.body), ...change })
}
const TOKENS = `select i.tokens is not null and exists (select from sessions s where s.user_id = u.id) as kept
  from user_identities i join users u on u.id = i.user_id where u.email = 'bea@example.com'`
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const unsigned = (claims: JWTPayload) => `${part({ alg: 'none' })}.${part(claims)}.`
const withSecret = (claims: JWTPayload) => {
  const text = `${part({ alg: 'HS256' })}.${part(claims)}`
  return `${text}.${createHmac('sha256', CLIENT_SECRET).update(text).digest('base64url')}`
}

/** Why a browser that begins a sign-in at this control plane is led back. */
async function errorOf(plane: TestControlPlane): Promise<string | null> {
  stage.idp.signIn = 'bea'
  const { url } = await startSignIn(plane.call)
  const visitor = openVisitor()
  const end = await visitor.follow(url, (next) => isCallback(next) || next.includes('#'))
  if (!isCallback(end)) return fragmentOf(end).error
  const { code, error } = fragmentOf((await visitor.get(end)).location ?? '')
  expect(code).toBeNull()
  return error
}

describe('at the confirmation', () => {
  const me = async (call: Awaited<ReturnType<OidcStage['signIn']>>['call']) =>
    (await call('GET', '/api/auth/me')).status

  test.each<readonly [string, (claims: JWTPayload) => string | Promise<string>]>([
    [
      'of another subject',
      (claims) =>
        stage.idp.sign({
          ...claims,
          ...{ sub: 'ada', email: 'ada@example.com', groups: ['platform-admins'] },
        }),
    ],
    [
      'for another audience',
      (claims) => stage.idp.sign({ ...claims, aud: 'other', groups: ['platform-admins'] }),
    ],
    [
      'of another issuer',
      (claims) => stage.idp.sign({ ...claims, iss: 'https://evil.example', groups: ['platform-admins'] }),
    ],
    ['without a signature', (claims) => unsigned({ ...claims, groups: ['platform-admins'] })],
    ['that is over', (claims) => stage.idp.sign({ ...claims, exp: 1, groups: ['platform-admins'] })],
  ])('an ID token %s gives nothing and ends the session', async (_what, make) => {
    const bea = await stage.signIn('bea')
    const before = await rights()
    await stage.fiveMinutesLater()
    stage.idp.tamper = async (path, answer) => {
      if (path !== '/token') return
      const { id_token: token } = JSON.parse(answer.body) as { id_token: string }
      replaced(answer, { id_token: await make(decodeJwt(token)) })
    }
    expect(await me(bea.call)).toBe(401)
    expect(await rights()).toEqual(before)
  })

  test.each([
    ['another subject', { sub: 'ada', groups: ['platform-admins'] }],
    ['groups that are too many', { _claim_names: { groups: 'x' } }],
    ['groups that are no list', { groups: { 'platform-admins': true } }],
  ])('UserInfo with %s gives nothing and ends the session', async (_what, change) => {
    const bea = await stage.signIn('bea')
    const before = await rights()
    await stage.fiveMinutesLater()
    stage.idp.tamper = (path, answer) => {
      if (path === '/me') replaced(answer, change)
    }
    expect(await me(bea.call)).toBe(401)
    expect(await rights()).toEqual(before)
  })

  test.each([
    ['500', { status: 500, body: 'oops' }],
    ['503 in HTML', { status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>busy</h1>' }],
    ['429', { status: 429, body: '{"error":"slow_down"}' }],
    ['that the client secret is wrong', { status: 401, body: '{"error":"invalid_client"}' }],
  ])('an answer %s ends nothing', async (_what, given) => {
    const bea = await stage.signIn('bea')
    await stage.fiveMinutesLater()
    stage.idp.tamper = (path, answer) => {
      if (path === '/token') Object.assign(answer, given)
    }
    expect(await me(bea.call)).toBe(503)
    expect(await stage.here.sql(TOKENS)).toEqual([{ kept: true }])
  })
})

describe('the discovery document', () => {
  const DOCUMENT = '/.well-known/openid-configuration'
  /** A control plane that has not read the document yet. */
  const fresh = async (env: Record<string, string> = {}) => {
    const plane = await stage.here.another(env)
    stage.idp.serve(`${plane.url}/api/auth/oidc/callback`)
    return plane
  }

  test('that says nothing special signs the user in', async () => {
    const plane = await fresh()
    stage.idp.signIn = 'bea'
    const visitor = openVisitor()
    const { url } = await startSignIn(plane.call)
    const { location } = await visitor.get(await visitor.follow(url, isCallback))
    expect(fragmentOf(location ?? '')).toEqual({ code: expect.any(String), error: null })
  })

  test.each([
    ['with a trailing slash', (issuer: string) => `${issuer}/`],
    ['in capitals', (issuer: string) => issuer.replace('http:', 'HTTP:')],
    ['by another name of the host', (issuer: string) => issuer.replace('127.0.0.1', 'localhost')],
  ])('of the issuer %s is of another issuer', async (_what, change) => {
    expect(await errorOf(await fresh({ OIDC_ISSUER: change(stage.idp.issuer) }))).toBe('invalid_answer')
  })

  test('that names another issuer is refused', async () => {
    stage.idp.tamper = (path, answer) => {
      if (path === DOCUMENT) replaced(answer, { issuer: 'https://evil.example' })
    }
    expect(await errorOf(await fresh())).toBe('invalid_answer')
  })

  test.each([
    ['none', ['none'], unsigned],
    ['none beside RS256', ['none', 'RS256'], unsigned],
    ['HMAC', ['HS256'], withSecret],
    ['nothing', [], unsigned],
    ['what is no list', 'none', unsigned],
  ])('that offers %s as algorithm makes no such ID token valid', async (_what, algorithms, make) => {
    stage.idp.tamper = (path, answer) => {
      if (path === DOCUMENT) replaced(answer, { id_token_signing_alg_values_supported: algorithms })
      if (path !== '/token' || answer.status !== 200) return
      const { id_token: token } = JSON.parse(answer.body) as { id_token: string }
      replaced(answer, { id_token: make(decodeJwt(token)) })
    }
    const before = await rights()
    expect(['invalid_answer', 'refused']).toContain(await errorOf(await fresh()))
    expect(await rights()).toEqual(before)
  })

  /** Linux takes it for this machine; it is refused for every outbound address. */
  const UNSPECIFIED = '0.0.0.0'
  const at = (host: string) => stage.idp.issuer.replace('127.0.0.1', host)

  test.each([
    ['token_endpoint', '/token'],
    ['jwks_uri', '/jwks'],
    ['userinfo_endpoint', '/me'],
  ])('names no refused address as %s: nothing is sent there', async (member, path) => {
    stage.idp.tamper = (asked, answer) => {
      if (asked === DOCUMENT) replaced(answer, { [member]: `${at(UNSPECIFIED)}${path}` })
    }
    const plane = await fresh()
    const before = stage.idp.calls.filter((called) => called === path).length
    expect(await errorOf(plane)).toBe('unreachable')
    expect(stage.idp.calls.filter((called) => called === path)).toHaveLength(before)
    expect(plane.log()).toMatch(/nothing was sent/)
    expect(plane.log()).not.toContain(CLIENT_SECRET)
  })

  test('is not read from such an address', async () => {
    const issuer = at(UNSPECIFIED)
    const before = stage.idp.calls.length
    const plane = await fresh({ OIDC_ISSUER: issuer.replace('http:', 'https:') })
    expect(await errorOf(plane)).toBe('unreachable')
    expect(stage.idp.calls).toHaveLength(before)
  })

  test('of more than 1 MiB is not read', async () => {
    stage.idp.tamper = (path, answer) => {
      if (path === DOCUMENT) replaced(answer, { padding: 'x'.repeat(1_100_000) })
    }
    const plane = await fresh()
    expect(await errorOf(plane)).toBe('unreachable')
  })
})
