import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Recorder, startRecorder } from '../../support/recorder.ts'
import { ENROL_TOKEN } from '../routes/installation.ts'
import { at, type Call, caller } from '../routes/start.ts'
import { ALLOWED, bearer, startWorld, type TestAgent, type World } from '../v1/world.ts'

let world: World
/** Another installation: with tokens just as good, of its own. */
let foreign: World
/** Nobody has business here. */
let trap: Recorder
let agent: TestAgent
let stranger: TestAgent
let publicKey: Record<string, string>

beforeAll(async () => {
  ;[world, foreign] = await Promise.all([startWorld(), startWorld({ MASTER_KEY: 'cd'.repeat(32) })])
  trap = await startRecorder()
  agent = await world.agent()
  stranger = await foreign.agent()
  publicKey = at((await world.plane.call('GET', '/.well-known/jwks.json')).body, 'keys', 0)
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
  await foreign?.[Symbol.asyncDispose]()
  await trap?.close()
})

type Issued = { readonly id: string; readonly token: string }

async function issue(by: TestAgent): Promise<Issued> {
  const { body, text } = await by.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
  if (body['status'] !== 'allowed') throw new Error(text)
  return { id: at(body, 'action_request_id'), token: at(body, 'decision_token') }
}

const verify = (call: Call, token: string, id: string) =>
  call('POST', '/api/v1/tokens/verify', { decision_token: token, action_request_id: id })

const attacker = generateKeyPairSync('ed25519')
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const partOf = (token: string, index: number) =>
  JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString()) as Record<string, unknown>

function signed(head: object, claims: object, by: (text: Buffer) => Buffer): string {
  const text = `${b64(head)}.${b64(claims)}`
  return `${text}.${by(Buffer.from(text)).toString('base64url')}`
}
const ed25519 = (key: KeyObject) => (text: Buffer) => sign(null, text, key)
const hmac = (secret: string | Buffer) => (text: Buffer) => createHmac('sha256', secret).update(text).digest()
const ours = () => createPublicKey({ key: publicKey, format: 'jwk' } as never)
const jwkOf = (key: KeyObject) => key.export({ format: 'jwk' })

type Given = {
  readonly head: Record<string, unknown>
  readonly claims: Record<string, unknown>
  readonly token: string
}
const SIGNATURE = 'Invalid signature'
const MALFORMED = 'Malformed token'

/** Everything that RFC 8725 warns of, and what else has been tried on others. */
const ATTACKS: ReadonlyArray<
  readonly [name: string, error: string, forge: (given: Given) => string | Promise<string>]
> = [
  ['of a foreign installation', SIGNATURE, async () => (await issue(stranger)).token],
  [
    'signed by a foreign key under our kid',
    SIGNATURE,
    ({ head, claims }) => signed(head, claims, ed25519(attacker.privateKey)),
  ],
  [
    'of an unknown kid',
    SIGNATURE,
    ({ head, claims }) => signed({ ...head, kid: 'unknown' }, claims, ed25519(attacker.privateKey)),
  ],
  [
    'of a kid that is a path',
    SIGNATURE,
    ({ head, claims }) => signed({ ...head, kid: '../../../dev/null' }, claims, hmac('')),
  ],
  [
    'of a kid that is SQL',
    SIGNATURE,
    ({ head, claims }) => signed({ ...head, kid: "' or 1=1 --" }, claims, ed25519(attacker.privateKey)),
  ],
  [
    'of a kid that is a property of objects',
    SIGNATURE,
    ({ head, claims }) => signed({ ...head, kid: '__proto__' }, claims, ed25519(attacker.privateKey)),
  ],
  [
    'without kid',
    SIGNATURE,
    ({ claims }) => signed({ alg: 'EdDSA', typ: 'JWT' }, claims, ed25519(attacker.privateKey)),
  ],
  [
    'with alg none and no signature',
    SIGNATURE,
    ({ head, claims }) => `${b64({ ...head, alg: 'none' })}.${b64(claims)}.`,
  ],
  [
    'with alg NoNe and our signature',
    SIGNATURE,
    ({ head, claims, token }) => `${b64({ ...head, alg: 'NoNe' })}.${b64(claims)}.${token.split('.')[2]}`,
  ],
  [
    'without alg',
    SIGNATURE,
    ({ head, claims, token }) =>
      `${b64({ kid: head['kid'], typ: 'JWT' })}.${b64(claims)}.${token.split('.')[2]}`,
  ],
  [
    'HS256 with our public key as PEM',
    SIGNATURE,
    ({ head, claims }) =>
      signed({ ...head, alg: 'HS256' }, claims, hmac(ours().export({ type: 'spki', format: 'pem' }))),
  ],
  [
    'HS256 with our public key as DER',
    SIGNATURE,
    ({ head, claims }) =>
      signed({ ...head, alg: 'HS256' }, claims, hmac(ours().export({ type: 'spki', format: 'der' }))),
  ],
  [
    'HS256 with the bytes of our public key',
    SIGNATURE,
    ({ head, claims }) =>
      signed({ ...head, alg: 'HS256' }, claims, hmac(Buffer.from(publicKey['x'] ?? '', 'base64url'))),
  ],
  [
    'HS256 with our public key as JWK',
    SIGNATURE,
    ({ head, claims }) => signed({ ...head, alg: 'HS256' }, claims, hmac(JSON.stringify(publicKey))),
  ],
  [
    'HS256 with nothing as key',
    SIGNATURE,
    ({ head, claims }) => signed({ ...head, alg: 'HS256' }, claims, hmac('')),
  ],
  [
    'RS256',
    SIGNATURE,
    ({ head, claims }) =>
      signed({ ...head, alg: 'RS256' }, claims, (text) => sign('sha256', text, rsa.privateKey)),
  ],
  [
    'ES256',
    SIGNATURE,
    ({ head, claims }) =>
      signed({ ...head, alg: 'ES256' }, claims, (text) =>
        sign('sha256', text, { key: ec.privateKey, dsaEncoding: 'ieee-p1363' }),
      ),
  ],
  [
    'that brings its key as jwk',
    SIGNATURE,
    ({ head, claims }) =>
      signed({ ...head, jwk: jwkOf(attacker.publicKey) }, claims, ed25519(attacker.privateKey)),
  ],
  [
    'that brings its key as jwk under its own kid',
    SIGNATURE,
    ({ head, claims }) =>
      signed(
        { ...head, kid: 'mine', jwk: { ...jwkOf(attacker.publicKey), kid: 'mine' } },
        claims,
        ed25519(attacker.privateKey),
      ),
  ],
  [
    'that names an address of keys (jku)',
    SIGNATURE,
    ({ head, claims }) => signed({ ...head, jku: `${trap.url}/keys` }, claims, ed25519(attacker.privateKey)),
  ],
  [
    'that names a certificate (x5u, x5c)',
    SIGNATURE,
    ({ head, claims }) =>
      signed(
        { ...head, x5u: `${trap.url}/certificate`, x5c: ['AA=='] },
        claims,
        ed25519(attacker.privateKey),
      ),
  ],
  [
    'with a critical extension',
    SIGNATURE,
    ({ head, claims, token }) =>
      `${b64({ ...head, crit: ['b64'], b64: false })}.${b64(claims)}.${token.split('.')[2]}`,
  ],
  [
    'whose time to live was changed',
    SIGNATURE,
    ({ head, claims, token }) =>
      `${b64(head)}.${b64({ ...claims, exp: 9_999_999_999 })}.${token.split('.')[2]}`,
  ],
  [
    'that names another action',
    SIGNATURE,
    ({ head, claims, token }) =>
      `${b64(head)}.${b64({ ...claims, act: 'act_other' })}.${token.split('.')[2]}`,
  ],
  [
    'with the signature of another token',
    SIGNATURE,
    async ({ token }) =>
      `${token.split('.').slice(0, 2).join('.')}.${(await issue(agent)).token.split('.')[2]}`,
  ],
  [
    'with a flipped bit in the signature',
    SIGNATURE,
    ({ token }) => token.slice(0, -10) + (token.at(-10) === 'A' ? 'B' : 'A') + token.slice(-9),
  ],
  [
    'with a signature of zeros',
    SIGNATURE,
    ({ token }) => `${token.split('.').slice(0, 2).join('.')}.${Buffer.alloc(64).toString('base64url')}`,
  ],
  ['cut short by a character', SIGNATURE, ({ token }) => token.slice(0, -1)],
  ['with a character more', SIGNATURE, ({ token }) => `${token}A`],
  ['with padding', MALFORMED, ({ token }) => `${token}==`],
  ['with a fourth part', MALFORMED, ({ token }) => `${token}.e30`],
  ['with a line break', MALFORMED, ({ token }) => `${token}\n`],
  ['with a blank before it', MALFORMED, ({ token }) => ` ${token}`],
  [
    'as JSON serialisation',
    MALFORMED,
    ({ token }) =>
      JSON.stringify({
        protected: token.split('.')[0],
        payload: token.split('.')[1],
        signature: token.split('.')[2],
      }),
  ],
  ['of five parts (encrypted)', MALFORMED, () => 'eyJhbGciOiJkaXIifQ..AAAA.AAAA.AAAA'],
  [
    'whose header is no object',
    MALFORMED,
    ({ claims, token }) => `${b64(['EdDSA'])}.${b64(claims)}.${token.split('.')[2]}`,
  ],
  ['of 64 KiB', MALFORMED, ({ token }) => token + 'A'.repeat(60_000)],
  ['that is garbage', MALFORMED, () => 'garbage'],
]

describe('a token', () => {
  test.each(ATTACKS)(
    '%s is refused for verifying and for executing, and the nonce stays untouched',
    async (_name, error, forge) => {
      const by = await world.agent()
      const { id, token } = await issue(by)
      const forged = await forge({ head: partOf(token, 0), claims: partOf(token, 1), token })
      const answer = await verify(world.plane.call, forged, id)
      expect([answer.status, answer.body]).toEqual([200, { valid: false, error }])
      const execute = (given: string) =>
        by.call('POST', `/api/v1/actions/${id}/execute`, { decision_token: given })
      // A body over what a token may have is refused before anybody looks at it.
      const refused = await execute(forged)
      expect([400, 403]).toContain(refused.status)
      if (refused.status === 403) {
        const text = `Token verification failed: ${error.charAt(0).toLowerCase()}${error.slice(1)}`
        expect(refused.body['error']).toBe(text)
      } else expect(forged.length).toBeGreaterThan(16_384)
      const [nonce] = await world.sql('select used_at, used_by from nonces where act_id = $1', [id])
      expect(nonce).toEqual({ used_at: null, used_by: null })
      expect(trap.connections).toBe(0)
      expect((await verify(world.plane.call, token, id)).body['valid']).toBe(true)
    },
  )

  test('that is ours and as good as its signature, but for another installation, agent or action, is refused', async () => {
    const mine = await issue(agent)
    const theirs = await issue(stranger)
    expect((await verify(foreign.plane.call, mine.token, mine.id)).body['error']).toBe(SIGNATURE)
    expect((await verify(world.plane.call, theirs.token, theirs.id)).body['error']).toBe(SIGNATURE)
    const other = await world.agent()
    const own = await issue(other)
    const execute = (by: TestAgent, id: string, decision_token: string) =>
      by.call('POST', `/api/v1/actions/${id}/execute`, { decision_token })
    expect((await execute(other, mine.id, mine.token)).status).toBe(404)
    const swapped = await execute(other, own.id, mine.token)
    expect([swapped.status, swapped.body['error']]).toEqual([
      403,
      'Token verification failed: action mismatch',
    ])
    for (const { id, token } of [mine, own]) {
      expect((await verify(world.plane.call, token, id)).body['valid']).toBe(true)
    }
  })

  test('whose time is over is refused by both, however good its signature, and cannot be brought back', async () => {
    const { id, token } = await issue(agent)
    await world.sql('update nonces set expires_at = clock_timestamp() where act_id = $1', [id])
    expect((await verify(world.plane.call, token, id)).body).toEqual({ valid: false, error: 'Token expired' })
    const late = await agent.call('POST', `/api/v1/actions/${id}/execute`, { decision_token: token })
    expect([late.status, late.body['error']]).toEqual([410, 'Token verification failed: token expired'])
    const [nonce] = await world.sql('select used_at from nonces where act_id = $1', [id])
    expect(nonce).toEqual({ used_at: null })
  })

  test('is no key to anything: not as an agent’s key, not as a session, not as a gateway’s token', async () => {
    const { id, token } = await issue(agent)
    const asBearer = caller(world.plane.url, { ...bearer(token), 'x-process-id': 'proc_x' })
    const asCookie = caller(world.plane.url, { cookie: `svc_session=${token}` })
    for (const [call, method, path] of [
      [asBearer, 'GET', `/api/v1/actions/${id}`],
      [asBearer, 'GET', '/api/dashboard/agents'],
      [asBearer, 'GET', `/api/gateway/sections/agents?hash=${'0'.repeat(64)}`],
      [asBearer, 'GET', '/api/metrics'],
      [asCookie, 'GET', '/api/auth/me'],
    ] as const) {
      expect((await call(method, path)).status, path).toBe(401)
    }
    expect(token).not.toContain(ENROL_TOKEN)
    expect((await verify(world.plane.call, token, id)).body['valid']).toBe(true)
  })
})
