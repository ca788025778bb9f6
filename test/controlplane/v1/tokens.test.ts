import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createLocalJWKSet, type JWK, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at, type Call, type TestControlPlane } from '../routes/start.ts'
import { ALLOWED, startWorld, type TestAgent, type World } from './world.ts'

let world: World
let agent: TestAgent
let replica: TestControlPlane

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  agent = await world.agent()
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

type Issued = { readonly id: string; readonly token: string }

async function issue(by: TestAgent = agent): Promise<Issued> {
  const { body, text } = await by.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
  if (body['status'] !== 'allowed') throw new Error(text)
  return { id: at(body, 'action_request_id'), token: at(body, 'decision_token') }
}

function verify(call: Call, token: string, id: string) {
  return call('POST', '/api/v1/tokens/verify', { decision_token: token, action_request_id: id })
}

test('a token is good once: the second time its nonce is used, and it reads back as null', async () => {
  const { id, token } = await issue()
  const first = await verify(world.plane.call, token, id)
  expect(first.status).toBe(200)
  expect(first.body).toEqual({
    valid: true,
    payload: {
      sub: agent.id,
      org: expect.stringMatching(/^org_/),
      act: id,
      ash: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  })
  for (const call of [world.plane.call, replica.call]) {
    const second = await verify(call, token, id)
    expect(second.status).toBe(200)
    expect(second.text).toBe('{"valid":false,"error":"Nonce already used"}')
  }
  expect((await agent.call('GET', `/api/v1/actions/${id}`)).body).toMatchObject({
    status: 'allowed',
    decision_token: null,
  })
})

describe('a token that is not ours, or not for this, is refused and its nonce stays', () => {
  const foreign = generateKeyPairSync('ed25519')
  const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const parsed = (part: string): Record<string, unknown> =>
    JSON.parse(Buffer.from(part, 'base64url').toString())
  type Forge = (given: { head: object; claims: Record<string, unknown>; jwk: JWK; token: string }) => string
  const signedBy = (key: KeyObject, head: object, claims: object) => {
    const text = `${b64(head)}.${b64(claims)}`
    return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`
  }
  const cases: ReadonlyArray<readonly [string, string, Forge]> = [
    [
      'signed by a foreign key',
      'Invalid signature',
      ({ head, claims }) => signedBy(foreign.privateKey, head, claims),
    ],
    [
      'of an unknown key',
      'Invalid signature',
      ({ claims }) => signedBy(foreign.privateKey, { alg: 'EdDSA', kid: 'nope', typ: 'JWT' }, claims),
    ],
    [
      'that brings its key along',
      'Invalid signature',
      ({ head, claims }) =>
        signedBy(foreign.privateKey, { ...head, jwk: foreign.publicKey.export({ format: 'jwk' }) }, claims),
    ],
    [
      'that names an address of keys',
      'Invalid signature',
      ({ head, claims }) => signedBy(foreign.privateKey, { ...head, jku: 'http://127.0.0.1:1/keys' }, claims),
    ],
    [
      'without a signature (alg none)',
      'Invalid signature',
      ({ claims }) => `${b64({ alg: 'none', typ: 'JWT' })}.${b64(claims)}.`,
    ],
    [
      'signed with the public key as a secret (HS256)',
      'Invalid signature',
      ({ claims, jwk, head }) => {
        const text = `${b64({ ...head, alg: 'HS256' })}.${b64(claims)}`
        const pem = createPublicKey({ key: jwk, format: 'jwk' } as never).export({
          type: 'spki',
          format: 'pem',
        })
        return `${text}.${createHmac('sha256', pem).update(text).digest('base64url')}`
      },
    ],
    [
      'whose claims were changed',
      'Invalid signature',
      ({ head, claims, token }) =>
        `${b64(head)}.${b64({ ...claims, exp: 9_999_999_999 })}.${token.split('.')[2]}`,
    ],
    [
      'of which a bit of the signature is flipped',
      'Invalid signature',
      ({ token }) => token.slice(0, -10) + (token.at(-10) === 'A' ? 'B' : 'A') + token.slice(-9),
    ],
    ['that is garbage', 'Malformed token', () => 'garbage'],
    ['that is empty', 'Malformed token', () => ''],
  ]
  test.each(cases)('%s', async (_name, error, forge) => {
    const { id, token } = await issue(await world.agent())
    const { body } = await world.plane.call('GET', '/.well-known/jwks.json')
    const [head = {}, claims = {}] = token.split('.').slice(0, 2).map(parsed)
    const forged = forge({ head, claims, token, jwk: at<JWK>(body, 'keys', 0) })
    const answer = await verify(world.plane.call, forged, id)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ valid: false, error })
    expect((await verify(world.plane.call, token, id)).body['valid']).toBe(true)
  })

  test('shown for another action', async () => {
    const [one, two] = [await issue(), await issue()]
    expect((await verify(world.plane.call, one.token, two.id)).body).toEqual({
      valid: false,
      error: 'Action mismatch',
    })
    expect((await verify(world.plane.call, one.token, one.id)).body['valid']).toBe(true)
    expect((await verify(world.plane.call, two.token, two.id)).body['valid']).toBe(true)
  })
})

test('expiry is a matter of the database’s time', async () => {
  const { id, token } = await issue()
  await world.sql("update nonces set expires_at = now() - interval '1 second' where act_id = $1", [id])
  expect((await verify(world.plane.call, token, id)).body).toEqual({ valid: false, error: 'Token expired' })
  expect((await agent.call('GET', `/api/v1/actions/${id}`)).body['decision_token']).toBeNull()
  const executed = await agent.call('POST', `/api/v1/actions/${id}/execute`, { decision_token: token })
  expect([executed.status, executed.body['error']]).toEqual([410, 'Token verification failed: token expired'])
  // Cleaned up, it is still expired and nothing else.
  await world.sql('delete from nonces where act_id = $1', [id])
  expect((await verify(world.plane.call, token, id)).body).toEqual({ valid: false, error: 'Token expired' })
})

test('a body that does not validate is a 400, everything else a 200', async () => {
  for (const body of [
    {},
    { decision_token: 'x' },
    { action_request_id: 'y' },
    { decision_token: 1, action_request_id: 'y' },
  ]) {
    expect((await world.plane.call('POST', '/api/v1/tokens/verify', body)).status).toBe(400)
  }
})

test('a kill switch refuses tokens and does not use their nonces', async () => {
  const { id, token } = await issue()
  const spent = await issue()
  await verify(world.plane.call, spent.token, spent.id)
  const setKillSwitch = (active: boolean) =>
    world.admin('POST', '/api/v1/org/kill-switch', { active, reason: 'drill' })
  expect((await setKillSwitch(true)).body).toEqual({ kill_switch: true })
  expect((await verify(world.plane.call, token, id)).body).toEqual({
    valid: false,
    error: 'Kill switch active: drill',
  })
  expect((await verify(world.plane.call, spent.token, spent.id)).body['error']).toBe('Nonce already used')
  expect((await setKillSwitch(false)).body).toEqual({ kill_switch: false })
  expect((await verify(world.plane.call, token, id)).body['valid']).toBe(true)
})

test('after a rotation new tokens have a new key, old ones stay good, on both replicas', async () => {
  const before = await issue()
  const rotated = await world.admin('POST', '/api/dashboard/signing-keys', { action: 'rotate' })
  expect(rotated.status).toBe(200)
  const after = await issue()
  const kid = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid
  expect(kid(after.token)).toBe(rotated.body['kid'])
  expect(kid(before.token)).not.toBe(kid(after.token))
  const { body } = await world.plane.call('GET', '/.well-known/jwks.json')
  const keys = createLocalJWKSet(body as never)
  for (const { token } of [before, after]) await jwtVerify(token, keys)
  expect(JSON.stringify(body)).not.toContain('"d"')
  expect((await agent.call('GET', `/api/v1/actions/${before.id}`)).body['decision_token']).toBe(before.token)
  expect((await verify(world.plane.call, before.token, before.id)).body['valid']).toBe(true)
  // The replica meets the new key here for the first time.
  expect((await verify(replica.call, after.token, after.id)).body['valid']).toBe(true)
})
