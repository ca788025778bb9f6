import { createHash, createHmac, randomBytes } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { at, register } from '../routes/start.ts'
import { CLIENT_ID, CLIENT_SECRET, type ProviderAnswer } from './identity-provider.ts'
import { type OidcStage, startOidcStage } from './stage.ts'
import { exchange, fragmentOf, isCallback, openVisitor, startSignIn } from './visitor.ts'

let stage: OidcStage
let failures = 0

beforeAll(async () => {
  stage = await startOidcStage()
  await register(stage.here.plane.call, 'owner@example.com')
  await stage.signIn('bea')
  await stage.signIn('ada')
})
afterAll(() => stage?.[Symbol.asyncDispose]())
beforeEach(() => {
  stage.idp.tamper = null
})

const state = () =>
  stage.here.sql(
    `select (select count(*)::int from sessions) as sessions, (select count(*)::int from users) as users,
       (select count(*)::int from audit_events where event_type = 'user.login') as logins,
       (select string_agg(email || role || groups::text, ',' order by email) from users) as roles`,
  )

/** Nothing that gives access has changed. */
async function withoutEffect(attack: () => Promise<unknown>): Promise<void> {
  const before = await state()
  await attack()
  expect(await state()).toEqual(before)
  failures += 1
}

/** The callback of a sign-in as this account, not opened yet. */
async function untilCallback(subject: string, visitor = openVisitor()) {
  stage.idp.signIn = subject
  const page = await startSignIn(stage.here.plane.call)
  return { ...page, visitor, callback: await visitor.follow(page.url, isCallback) }
}

async function refusedBy(given: {
  visitor: ReturnType<typeof openVisitor>
  callback: string
}): Promise<string | null> {
  const { code, error } = fragmentOf((await given.visitor.get(given.callback)).location ?? '')
  expect(code).toBeNull()
  return error
}

/** Replaces the ID token in the answer of the token endpoint. */
function replaceIdToken(make: (claims: JWTPayload, original: string) => string | Promise<string>) {
  stage.idp.tamper = async (path: string, answer: ProviderAnswer) => {
    if (path !== '/token') return
    const body = JSON.parse(answer.body) as { id_token: string }
    answer.body = JSON.stringify({ ...body, id_token: await make(decodeJwt(body.id_token), body.id_token) })
  }
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const signed =
  (change: JWTPayload, header = {}) =>
  (claims: JWTPayload) =>
    stage.idp.sign({ ...claims, ...change }, header)
const hmac =
  (key: string | Buffer, alg = 'HS256') =>
  (claims: JWTPayload) => {
    const text = `${part({ alg, kid: 'key-1' })}.${part({ ...claims, sub: 'ada' })}`
    return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
  }
const now = () => Math.floor(Date.now() / 1_000)

describe('an ID token', () => {
  test.each<readonly [string, (claims: JWTPayload, original: string) => string | Promise<string>]>([
    ['with the algorithm none', (claims) => `${part({ alg: 'none' })}.${part({ ...claims, sub: 'ada' })}.`],
    ['with the algorithm None', (claims) => `${part({ alg: 'None' })}.${part({ ...claims, sub: 'ada' })}.`],
    [
      'whose header says none over the signature',
      (claims, original) => `${part({ alg: 'none' })}.${part(claims)}.${original.split('.')[2]}`,
    ],
    ['signed with HMAC and the client secret', hmac(CLIENT_SECRET)],
    [
      'signed with HMAC and the public key',
      async (claims) => {
        const keys = await (await fetch(`${stage.idp.issuer}/jwks`)).text()
        return hmac(keys)(claims)
      },
    ],
    ['signed with HMAC, called HS512', hmac(CLIENT_SECRET, 'HS512')],
    [
      'with a signature of another key',
      async (claims) => {
        const { privateKey } = await generateKeyPair('RS256')
        return new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS256', kid: 'key-1' }).sign(privateKey)
      },
    ],
    [
      'with a key in its own header',
      async (claims) => {
        const { privateKey, publicKey } = await generateKeyPair('RS256')
        const jwk = await exportJWK(publicKey)
        return new SignJWT({ ...claims })
          .setProtectedHeader({ alg: 'RS256', jwk, kid: 'own' })
          .sign(privateKey)
      },
    ],
    [
      'with another subject under the old signature',
      (claims, original) => {
        const [header, , signature] = original.split('.')
        return `${header}.${part({ ...claims, sub: 'ada' })}.${signature}`
      },
    ],
    ['for another audience', signed({ aud: 'other-client' })],
    [
      'for several audiences, with another authorised party',
      signed({ aud: [CLIENT_ID, 'other'], azp: 'other' }),
    ],
    ['of another issuer', signed({ iss: 'https://evil.example' })],
    ['of the issuer with a trailing slash', (claims) => signed({ iss: `${claims.iss}/` })(claims)],
    ['with another nonce', signed({ nonce: 'x'.repeat(43) })],
    [
      'without a nonce',
      (claims) => {
        const { nonce: _nonce, ...others } = claims
        return stage.idp.sign(others)
      },
    ],
    ['that is over', signed({ exp: now() - 3_600, iat: now() - 7_200 })],
    ['that is not valid yet', signed({ nbf: now() + 3_600 })],
    [
      'without an end',
      (claims) => {
        const { exp: _exp, ...others } = claims
        return stage.idp.sign(others)
      },
    ],
    ['of another user than UserInfo', signed({ sub: 'ada' })],
    [
      'with a critical header that nobody knows',
      (claims) =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'RS256', kid: 'key-1', crit: ['b64x'], b64x: true })
          .sign(stage.idp.privateKey, { crit: { b64x: true } }),
    ],
    ['that is empty', () => ''],
  ])('%s signs nobody in', async (_what, make) => {
    await withoutEffect(async () => {
      const given = await untilCallback('bea')
      replaceIdToken(make)
      expect(['invalid_answer', 'refused']).toContain(await refusedBy(given))
    })
  })

  test('that is missing starts no session', async () => {
    await withoutEffect(async () => {
      const given = await untilCallback('bea')
      stage.idp.tamper = (path, answer) => {
        if (path === '/token')
          answer.body = JSON.stringify({ ...JSON.parse(answer.body), id_token: undefined })
      }
      expect(await refusedBy(given)).toBe('invalid_answer')
    })
  })

  test('of an earlier sign-in starts no session', async () => {
    let earlier = ''
    stage.idp.tamper = (path, answer) => {
      if (path === '/token') earlier = (JSON.parse(answer.body) as { id_token: string }).id_token
    }
    const first = await untilCallback('bea')
    await first.visitor.get(first.callback)
    expect(decodeProtectedHeader(earlier).alg).toBe('RS256')
    await withoutEffect(async () => {
      const given = await untilCallback('bea')
      replaceIdToken(() => earlier)
      expect(await refusedBy(given)).toBe('invalid_answer')
    })
  })
})

describe('the claims', () => {
  const userInfo = (change: Record<string, unknown>) => {
    stage.idp.tamper = (path, answer) => {
      if (path === '/me') answer.body = JSON.stringify({ ...JSON.parse(answer.body), ...change })
    }
  }
  test.each([
    [
      'groups left out because there are too many',
      { groups: undefined, _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } },
      'too_many_groups',
    ],
    ['the overage flag beside groups', { hasgroups: true, groups: ['platform-admins'] }, 'too_many_groups'],
    [
      '1,001 groups',
      { groups: ['platform-admins', ...Array.from({ length: 1_000 }, (_, n) => `g${n}`)] },
      'too_many_groups',
    ],
    ['groups as an object', { groups: { 'platform-admins': true } }, 'invalid_answer'],
    ['groups in a list in the list', { groups: [['platform-admins']] }, 'invalid_answer'],
    ['groups joined by commas', { groups: 'x,platform-admins' }, 'no_access'],
    ['a group in another case', { groups: ['Platform-Admins', 'platform-admins '] }, 'no_access'],
    ['the name of every group', { groups: ['*'] }, 'no_access'],
    ['groups named as parts of objects', { groups: ['__proto__', 'constructor', 'toString'] }, 'no_access'],
    ['no e-mail address', { email: undefined }, 'no_email'],
    ['an e-mail address that is not verified', { email_verified: false }, 'no_email'],
    ['that text for it', { email_verified: 'false' }, 'no_email'],
    ['the verified address of the owner', { email: 'owner@example.com' }, 'account_exists'],
    ['that address in capitals', { email: 'OWNER@EXAMPLE.COM' }, 'account_exists'],
    ["another user's address", { email: 'bea@example.com' }, 'account_exists'],
    ['the subject of another user', { sub: 'bea' }, 'invalid_answer'],
  ])('with %s: %j sign nobody in (%s)', async (_what, change, error) => {
    stage.idp.accounts.set('mallory', {
      sub: 'mallory',
      email: 'mallory@example.com',
      email_verified: true,
      groups: ['team-a'],
    })
    await withoutEffect(async () => {
      const given = await untilCallback('mallory')
      userInfo(change)
      expect(await refusedBy(given)).toBe(error)
    })
  })

  test('of the role owner make no owner', async () => {
    const given = await untilCallback('mallory')
    userInfo({ groups: ['owner', 'owners', 'team-a'], role: 'owner', roles: ['owner'] })
    expect(fragmentOf((await given.visitor.get(given.callback)).location ?? '').code).not.toBeNull()
    const [row] = await stage.here.sql("select role from users where email = 'mallory@example.com'")
    expect(row).toEqual({ role: 'member' })
    failures += 1
  })
})

describe('the callback', () => {
  const changed = (callback: string, change: (query: URLSearchParams) => void) => {
    const url = new URL(callback)
    change(url.searchParams)
    return url.href
  }

  test.each<readonly [string, (query: URLSearchParams) => void]>([
    ['without a state', (query) => query.delete('state')],
    ['with an empty state', (query) => query.set('state', '')],
    ['with a state of our making', (query) => query.set('state', randomBytes(200).toString('base64url'))],
    ['with a changed state', (query) => query.set('state', `${query.get('state')}A`)],
    ['with two states', (query) => query.append('state', query.get('state') ?? '')],
    ['without a code', (query) => query.delete('code')],
    ['with a guessed code', (query) => query.set('code', randomBytes(32).toString('base64url'))],
    ['with two codes', (query) => query.append('code', 'x')],
    ['without the issuer', (query) => query.delete('iss')],
    ['with the issuer of another provider (mix-up)', (query) => query.set('iss', 'https://evil.example')],
    ['with the issuer and a trailing slash', (query) => query.set('iss', `${query.get('iss')}/`)],
    ['with an error beside the code', (query) => query.set('error', 'access_denied')],
    ['with an answer in the front channel', (query) => query.set('id_token', 'x.y.z')],
  ])('%s signs nobody in', async (_what, change) => {
    await withoutEffect(async () => {
      const given = await untilCallback('bea')
      await refusedBy({ ...given, callback: changed(given.callback, change) })
    })
  })

  test('in a browser that did not start the sign-in (CSRF) is refused, and the code is not redeemed', async () => {
    await withoutEffect(async () => {
      const { callback } = await untilCallback('ada')
      stage.idp.calls.length = 0
      expect(await refusedBy({ visitor: openVisitor(), callback })).toBe('other_browser')
      // Nor with the cookie of a sign-in of its own.
      const other = await untilCallback('bea')
      stage.idp.calls.length = 0
      expect(await refusedBy({ visitor: other.visitor, callback })).toBe('other_browser')
      expect(stage.idp.calls).toEqual([])
    })
  })

  test('with the state of one sign-in and the code of another is refused', async () => {
    await withoutEffect(async () => {
      const visitor = openVisitor()
      const [own, foreign] = [await untilCallback('bea', visitor), await untilCallback('ada')]
      const code = new URL(foreign.callback).searchParams.get('code') ?? ''
      const callback = changed(own.callback, (query) => query.set('code', code))
      expect(['refused', 'invalid_answer']).toContain(await refusedBy({ visitor, callback }))
    })
  })

  test('is answered once: code and state again are refused, also at once and at another replica', async () => {
    const given = await untilCallback('bea')
    const cookies = new Map(given.visitor.cookies)
    const again = async () => {
      const visitor = openVisitor()
      for (const [name, cookie] of cookies) visitor.cookies.set(name, cookie)
      return fragmentOf((await visitor.get(given.callback)).location ?? '').code
    }
    const codes = await Promise.all(Array.from({ length: 6 }, again))
    expect(codes.filter((code) => code !== null).length).toBeLessThanOrEqual(1)
    await withoutEffect(async () => expect(await again()).toBeNull())
  })

  test('after ten minutes is refused', async () => {
    await withoutEffect(async () => {
      const given = await untilCallback('bea')
      const real = Date.now
      Date.now = () => real() + 600_001
      try {
        expect(await refusedBy(given)).toBe('expired')
      } finally {
        Date.now = real
      }
    })
  })

  test('leads to our own page only, whatever the request says (open redirect)', async () => {
    const { url, secret } = await startSignIn(stage.here.plane.call)
    for (const extra of [
      'redirect_uri=https://evil.example',
      'return_to=//evil.example',
      'request=x&next=https://evil.example',
    ]) {
      const visitor = openVisitor()
      const { location, status } = await visitor.get(`${url}&${extra}`)
      if (location === null) expect(status).toBe(400)
      else
        expect(new URL(location).searchParams.get('redirect_uri')).toBe(
          `${stage.here.plane.url}/api/auth/oidc/callback`,
        )
      expect(location ?? stage.idp.issuer).toMatch(new RegExp(`^${stage.idp.issuer}`))
    }
    const given = await untilCallback('bea')
    for (const headers of [{ host: 'evil.example' }, { 'x-forwarded-host': 'evil.example' }]) {
      const answer = await fetch(given.callback, { redirect: 'manual', headers })
      const location = answer.headers.get('location')
      if (location !== null) expect(new URL(location).origin).toBe(stage.here.plane.url)
    }
    for (const more of [
      { redirect: 'https://evil.example' },
      { loopback_port: 0 },
      { loopback_port: '80@evil.example' },
      { loopback_port: 70_000 },
    ])
      await expect(startSignIn(stage.here.plane.call, more)).rejects.toThrow(/400/)
    expect(secret).toHaveLength(43)
    failures += 1
  })
})

describe('the code in the fragment', () => {
  async function code(subject = 'bea') {
    const { end, secret } = await stage.walk(subject)
    return { code: fragmentOf(end).code ?? '', secret }
  }
  const use = (given: { code: string; secret: string }) =>
    exchange(stage.here.plane.url, stage.here.plane.call, given)

  test('is good once', async () => {
    const given = await code()
    const answers = await Promise.all(Array.from({ length: 10 }, () => use(given)))
    expect(answers.filter(({ answer }) => answer.status === 200)).toHaveLength(1)
    await withoutEffect(async () => expect((await use(given)).answer.status).toBe(401))
  })

  test('is refused with the secret of another page, and void then', async () => {
    await withoutEffect(async () => {
      const [given, other] = [await code(), await code('ada')]
      expect((await use({ ...given, secret: other.secret })).answer.status).toBe(401)
      expect((await use(given)).answer.status).toBe(401)
    })
  })

  test('is refused after 60 seconds', async () => {
    await withoutEffect(async () => {
      const given = await code()
      await stage.here.sql("update provider_sign_ins set created_at = created_at - interval '60 seconds'")
      expect((await use(given)).answer.status).toBe(401)
    })
  })

  test('is refused if the user was suspended during the sign-in', async () => {
    const given = await code()
    await stage.here.sql("update users set status = 'suspended' where email = 'bea@example.com'")
    await withoutEffect(async () => expect((await use(given)).answer.status).toBe(401))
    await stage.here.sql("update users set status = 'active' where email = 'bea@example.com'")
  })

  test.each([
    [
      'a guess',
      () => ({ code: randomBytes(32).toString('base64url'), secret: randomBytes(32).toString('base64url') }),
    ],
    [
      'a hash',
      () => ({ code: createHash('sha256').update('x').digest('base64url'), secret: 'A'.repeat(43) }),
    ],
  ])('that is %s is refused', async (_what, make) => {
    await withoutEffect(async () => expect((await use(make())).answer.status).toBe(401))
  })

  test('is exchanged by pages of our own origin only', async () => {
    await withoutEffect(async () => {
      const given = await code()
      for (const headers of [
        { origin: 'https://evil.example' },
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'cross-site' },
      ])
        expect((await stage.here.plane.call('POST', '/api/auth/oidc/exchange', given, headers)).status).toBe(
          403,
        )
    })
  })

  test('is in no log, and in the database as a hash', async () => {
    const given = await code()
    expect(stage.here.plane.log()).not.toContain(given.code)
    expect(JSON.stringify(await stage.here.sql('select * from provider_sign_ins'))).not.toContain(given.code)
  })
})

describe('an account with a password', () => {
  const invite = async (email: string, role: string) => {
    const { body } = await stage.here.admin('POST', '/api/dashboard/users', { action: 'invite', email, role })
    if (body['invite_token'] === undefined) {
      const owner = await stage.here.plane.signIn('owner@example.com')
      const again = await owner('POST', '/api/dashboard/users', { action: 'invite', email, role })
      return register(stage.here.plane.call, email, { invite_token: at(again.body, 'invite_token') })
    }
    return register(stage.here.plane.call, email, { invite_token: at(body, 'invite_token') })
  }

  test('is taken over by a verified e-mail address only, and loses password, sessions and keys then', async () => {
    await invite('eve@example.com', 'admin')
    const eve = await stage.here.plane.signIn('eve@example.com')
    const account = { sub: 'eve', email: 'eve@example.com', groups: ['auditors'] }
    stage.idp.accounts.set('eve', account)
    await withoutEffect(async () =>
      expect(fragmentOf((await stage.walk('eve')).end).error).toBe('account_exists'),
    )
    // The ID token has the address; UserInfo states that another one is verified.
    const other = { sub: 'finn', email: 'finn@example.com', email_verified: true, groups: ['auditors'] }
    stage.idp.accounts.set('finn', other)
    await withoutEffect(async () => {
      const given = await untilCallback('finn')
      replaceIdToken(signed({ email: 'eve@example.com' }))
      expect(await refusedBy(given)).toBe('account_exists')
    })
    // The ID token states that an address is verified, and names none; UserInfo has another one, which is not verified.
    stage.idp.accounts.set('finn', { ...other, email: 'eve@example.com', email_verified: false })
    await withoutEffect(async () => {
      const given = await untilCallback('finn')
      replaceIdToken(signed({ email_verified: true }))
      expect(await refusedBy(given)).toBe('no_email')
    })
    stage.idp.tamper = null
    stage.idp.accounts.set('eve', { ...account, email_verified: true })
    const signedIn = await stage.signIn('eve')
    expect(at(signedIn.answer.body, 'user', 'role')).toBe('viewer')
    expect((await eve('GET', '/api/auth/me')).status).toBe(401)
    await expect(stage.here.plane.signIn('eve@example.com')).rejects.toThrow(/wrong/)
  })
})

test('at least 30 attacks ran', () => expect(failures).toBeGreaterThanOrEqual(50))
