import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes } from 'node:crypto'
import { decodeJwt, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { encryptPush } from '../../../controlplane/features/notifications/push/encryption.ts'
import { isPushEndpoint } from '../../../controlplane/features/notifications/push/push-services.ts'
import { createVapid } from '../../../controlplane/features/notifications/push/vapid.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { type Recorder, startRecorder } from '../../support/recorder.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { type Call, caller, PASSWORD } from '../routes/start.ts'
import { type ChatPlane, type FakeChat, startChat, startChatPlane } from './chat-world.ts'

/** A browser: its keys, and what RFC 8291 has it do with a message. */
function browser() {
  const keys = createECDH('prime256v1')
  keys.generateKeys()
  const auth = randomBytes(16)
  return {
    keys: { p256dh: keys.getPublicKey('base64url'), auth: auth.toString('base64url') },
    decrypt: (body: Buffer) => decrypted(body, keys, auth),
  }
}

function decrypted(body: Buffer, keys: ReturnType<typeof createECDH>, auth: Buffer): string {
  const [salt, size] = [body.subarray(0, 16), body.readUInt32BE(16)]
  const point = body.subarray(21, 21 + body.readUInt8(20))
  const sealed = body.subarray(21 + point.length)
  expect(sealed.length).toBeLessThanOrEqual(size)
  const hkdf = (key: Buffer, from: Buffer, info: Buffer, bytes: number) =>
    Buffer.from(hkdfSync('sha256', key, from, info, bytes))
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), keys.getPublicKey(), point])
  const input = hkdf(keys.computeSecret(point), auth, info, 32)
  const key = hkdf(input, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = hkdf(input, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
  const decipher = createDecipheriv('aes-128-gcm', key, nonce, { authTagLength: 16 })
  decipher.setAuthTag(sealed.subarray(-16))
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()])
  return padded.subarray(0, padded.lastIndexOf(2)).toString('utf8')
}

test('the encryption is that of the example of RFC 8291, appendix A', () => {
  const from = (text: string) => Buffer.from(text, 'base64url')
  const keys = {
    p256dh: from('BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'),
    auth: from('BTBZMqHH6r4Tts7J_aSIgg'),
  }
  const message = Buffer.from('When I grow up, I want to be a watermelon')
  const random = {
    privateKey: from('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw'),
    salt: from('DGv6ra1nlYgDCS1FRnbzlw'),
  }
  expect(encryptPush(message, keys, message.length, random).toString('base64url')).toBe(
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  )
})

test.each([
  ['https://fcm.googleapis.com/fcm/send/abc', true],
  ['https://updates.push.services.mozilla.com/wpush/v2/abc', true],
  ['https://db5p.notify.windows.com/w/?token=abc', true],
  ['https://web.push.apple.com/abc', true],
  ['http://fcm.googleapis.com/fcm/send/abc', false],
  ['https://fcm.googleapis.com.example/abc', false],
  ['https://example.fcm.googleapis.com/abc', false],
  ['https://notify.windows.com/abc', false],
  ['https://user@fcm.googleapis.com/abc', false],
  ['https://169.254.169.254/', false],
  ['fcm.googleapis.com', false],
])('%s is an endpoint of a push service: %s', (endpoint, is) => {
  expect(isPushEndpoint(endpoint)).toBe(is)
})

const HOST = 'push.example'
let postgres: TestPostgres
let chat: FakeChat
let plane: ChatPlane
let push: Recorder
let ann: Call
let vera: Call
let answerStatus = 201

beforeAll(async () => {
  const ca = createTestCa()
  postgres = await workerPostgres()
  chat = await startChat()
  push = await startRecorder({ tls: ca.issue(HOST) })
  push.answerWith((request, response) => {
    request.on('end', () => response.writeHead(answerStatus).end())
    request.resume()
  })
  plane = await startChatPlane(await postgres.createMigratedDatabase(), chat, {
    env: { PUBLIC_URL: 'http://127.0.0.1:9000' },
    push: { services: [HOST], ca: [ca.cert], resolve: async () => [{ address: '127.0.0.1', family: 4 }] },
  })
  ann = await join('ann@example.com', 'member')
  vera = await join('vera@example.com', 'viewer')
})
afterAll(async () => {
  await plane?.[Symbol.asyncDispose]()
  await Promise.all([chat?.[Symbol.asyncDispose](), push?.close()])
  await postgres?.stop()
})

async function join(email: string, role: string): Promise<Call> {
  await plane.join(email, role, ['release'])
  const signIn = await caller(plane.url, {})('POST', '/api/auth/login', { email, password: PASSWORD })
  return caller(plane.url, { cookie: signIn.headers.get('set-cookie')?.split(';')[0] ?? '' })
}

const PATH = '/api/dashboard/push-subscriptions'
const CHANNELS = '/api/dashboard/notification-channels'
let browsers = 0

/** Subscribes a new browser; `messages` are those that it has received. */
async function subscribe(by: Call = ann) {
  const { keys, decrypt } = browser()
  const path = `/send/canary-${++browsers}`
  const { status, body } = await by('POST', PATH, { endpoint: `https://${HOST}:${push.port}${path}`, keys })
  expect(status, JSON.stringify(body)).toBe(200)
  const requests = () => push.seen.filter(({ target, isComplete }) => target === path && isComplete)
  const messages = () => requests().map((seen) => JSON.parse(decrypt(Buffer.from(seen.body))))
  return { id: String(body['id']), path, requests, messages }
}
const view = async (id: string, by: Call = ann) =>
  ((await by('GET', PATH)).body['subscriptions'] as { id: string; last_error: string | null }[]).find(
    (one) => one.id === id,
  )
const remove = (id: string, by: Call = ann) => by('DELETE', `${PATH}?id=${id}`)
const channel = async () =>
  ((await plane.owner('GET', CHANNELS)).body['channels'] as { name: string; state: string }[]).find(
    ({ name }) => name === 'web_push',
  )
const events = async (id: string) =>
  (
    await plane.db.query(
      "select event_type from audit_events where details->>'subscription_id' = $1 order by id",
      [id],
    )
  ).rows.map(({ event_type }) => event_type)

test('the identity of the installation is signed for one push service, and has a contact with https only', async () => {
  const keyring = createKeyring(Buffer.alloc(32, 5))
  const { publicKey, authorization } = createVapid(keyring, 'https://chaperone.example')
  expect(createVapid(keyring, null).publicKey).toBe(publicKey)
  const token = (text: string) => /^vapid t=(\S+), k=\S+$/.exec(text)?.[1] ?? ''
  expect(decodeJwt(token(await authorization('https://fcm.googleapis.com/a', 0)))).toEqual({
    ...{ aud: 'https://fcm.googleapis.com', sub: 'https://chaperone.example', exp: 43_200 },
  })
  const local = createVapid(keyring, 'http://localhost:9000')
  expect(decodeJwt(token(await local.authorization('https://fcm.googleapis.com/a', 0)))).not.toHaveProperty(
    'sub',
  )
})

describe('Web Push', () => {
  test('is off without a browser, and then has the state of its deliveries', async () => {
    expect(await channel()).toMatchObject({ state: 'off', settings: null })
    const { id } = await subscribe()
    expect(await channel()).toMatchObject({ state: 'unproven', settings: null })
    await remove(id)
    expect(await events(id)).toEqual(['push_subscription.created', 'push_subscription.deleted'])
  })

  test('sends the number of approvals that wait and a link, encrypted for the browser, and nothing of the request', async () => {
    const one = await subscribe()
    const card = await plane.hold({ target: 'canary/target', parameters: { note: 'canary' } } as never)
    const [message] = await eventually('the message', () =>
      one.messages().length > 0 ? one.messages() : null,
    )
    expect(message).toEqual({ count: 1, link: '/#/approvals' })
    const [request] = one.requests()
    const header = (name: string) => request?.header(name)
    expect([header('content-encoding'), header('ttl'), header('urgency')]).toEqual([
      'aes128gcm',
      '600',
      'high',
    ])
    for (const secret of ['canary/target', card.id, card.agent, 'pr.merge'])
      expect(String(request?.body) + request?.rawHeaders.join()).not.toContain(secret)
    const [, token = '', key = ''] = /^vapid t=(\S+), k=(\S+)$/.exec(header('authorization') ?? '') ?? []
    expect((await ann('GET', PATH)).body['public_key']).toBe(key)
    const point = Buffer.from(key, 'base64url')
    const jwk = { kty: 'EC', crv: 'P-256', x: b64(point.subarray(1, 33)), y: b64(point.subarray(33)) }
    await jwtVerify(token, createPublicKey({ key: jwk, format: 'jwk' }), {
      audience: `https://${HOST}:${push.port}`,
    })
    await plane.owner('POST', '/api/dashboard/proxy-approvals', { id: card.id, approved: false })
    await remove(one.id)
  })

  test('sends nothing to a browser whose user may not answer', async () => {
    const mine = await subscribe()
    await plane.db.query("update users set role = 'viewer' where email = 'ann@example.com'")
    const other = await subscribe(plane.owner)
    const card = await plane.hold()
    await eventually('the owner is reached', () => (other.messages().length > 0 ? true : null))
    await eventually('the message to the other user is obsolete', async () => {
      const { rows } = await plane.db.query(
        "select state from outbox where subject_id = $1 and payload->>'subscription_id' = $2",
        [card.id, mine.id],
      )
      return rows[0]?.state === 'obsolete' ? true : null
    })
    expect(mine.requests()).toEqual([])
    await plane.db.query("update users set role = 'member' where email = 'ann@example.com'")
    await plane.owner('POST', '/api/dashboard/proxy-approvals', { id: card.id, approved: false })
    await Promise.all([remove(mine.id), remove(other.id, plane.owner)])
  })

  test('sends a test to one browser, and shows the error of its push service at the browser and on Overview', async () => {
    const one = await subscribe()
    const testOf = async (by: Call = ann) => (await by('POST', `${PATH}/test`, { id: one.id })).body
    expect(await testOf()).toEqual({ ok: true, error: null })
    expect(one.messages()).toEqual([{ count: null, link: '/#/approvals' }])
    answerStatus = 403
    expect(await testOf()).toEqual({ ok: false, error: 'answered 403' })
    expect(await view(one.id)).toMatchObject({ last_error: 'answered 403' })
    expect((await plane.owner('POST', `${CHANNELS}/test`, { name: 'web_push' })).body).toEqual({
      ...{ ok: false, error: 'answered 403' },
    })
    const warnings = async () =>
      String((await plane.owner('GET', '/api/dashboard/overview')).body['warnings'])
    expect(await warnings()).toContain('Notifications by Web Push fail')
    answerStatus = 201
    expect((await plane.owner('POST', `${CHANNELS}/test`, { name: 'web_push' })).body).toMatchObject({
      ok: true,
    })
    expect(await warnings()).not.toContain('Web Push')
    await remove(one.id)
    expect((await plane.owner('POST', `${CHANNELS}/test`, { name: 'web_push' })).status).toBe(409)
  })

  test.each([404, 410])('removes a browser whose push service answers %s', async (status) => {
    const one = await subscribe()
    answerStatus = status
    expect((await ann('POST', `${PATH}/test`, { id: one.id })).body).toMatchObject({ ok: false })
    answerStatus = 201
    expect(await view(one.id)).toBeUndefined()
    expect(await events(one.id)).toEqual(['push_subscription.created', 'push_subscription.deleted'])
  })

  test('announces several approvals in one message', async () => {
    const [first, second] = [await plane.hold(), await plane.hold()]
    const one = await subscribe()
    const third = await plane.hold()
    await eventually('the message', () => (one.messages().length > 0 ? true : null))
    expect(one.messages()).toEqual([{ count: 3, link: '/#/approvals' }])
    for (const { id } of [first, second, third])
      await plane.owner('POST', '/api/dashboard/proxy-approvals', { id, approved: false })
    await remove(one.id)
  })

  test('keeps the endpoint secret, and belongs to the user of the browser', async () => {
    const one = await subscribe()
    const listed = await ann('GET', PATH)
    const { rows } = await plane.db.query('select s::text as row from push_subscriptions s')
    for (const text of [listed.text, JSON.stringify(rows), plane.log()]) expect(text).not.toContain(one.path)
    expect((await plane.owner('GET', PATH)).body['subscriptions']).toEqual([])
    expect((await remove(one.id, plane.owner)).status).toBe(404)
    expect((await plane.owner('POST', `${PATH}/test`, { id: one.id })).status).toBe(404)
    expect((await vera('GET', PATH)).status).toBe(403)
    await remove(one.id)
  })

  test.each([
    ['another host', () => ({ endpoint: 'https://example.com/push', ...browser() })],
    ['a private address', () => ({ endpoint: 'https://169.254.169.254/', ...browser() })],
    ['no TLS', () => ({ endpoint: `http://${HOST}/push`, ...browser() })],
    [
      'a key that is no point',
      () => ({ keys: { p256dh: b64(Buffer.alloc(65, 4)), auth: b64(Buffer.alloc(16)) } }),
    ],
    ['a short secret', () => ({ keys: { ...browser().keys, auth: b64(Buffer.alloc(8)) } })],
  ])('refuses a subscription with %s', async (_, changes) => {
    const { endpoint = `https://${HOST}/x`, keys } = changes() as { endpoint?: string; keys: object }
    const { status, body } = await ann('POST', PATH, { endpoint, keys })
    expect(status, JSON.stringify(body)).toBe(400)
  })
})

function b64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}
