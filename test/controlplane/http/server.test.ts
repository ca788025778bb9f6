import { connect } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { AuthDeps } from '../../../controlplane/http/auth/authenticate.ts'
import { createRateWindow } from '../../../controlplane/http/rate-window.ts'
import { route } from '../../../controlplane/http/route.ts'
import { createHttpServer } from '../../../controlplane/http/server.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { sha256 } from '../../../runtime/sha256.ts'

let handled = 0
const count = async () => ({ handled: ++handled })
const Body = z.strictObject({ name: z.string(), deep: z.unknown().optional() })
const routes = [
  route({
    method: 'POST',
    path: '/api/echo',
    auth: 'none',
    summary: '',
    body: Body,
    response: z.unknown(),
    handler: async ({ body }) => body,
  }),
  route({
    method: 'POST',
    path: '/api/small',
    auth: 'none',
    summary: '',
    bodyLimit: 10,
    response: z.unknown(),
    handler: count,
  }),
  route({
    method: 'GET',
    path: '/api/boom',
    auth: 'none',
    summary: '',
    handler: async () => {
      throw new Error('secret detail')
    },
  }),
  route({
    method: 'GET',
    path: '/api/busy',
    auth: 'none',
    summary: '',
    handler: async () => {
      throw new ChaperoneError('rate_limited', { error: 'Rate limit exceeded', retryAfterS: 7 })
    },
  }),
  route({
    method: 'GET',
    path: '/api/raw',
    auth: 'none',
    summary: '',
    handler: async ({ raw }) => {
      raw.reply.hijack()
      raw.reply.raw.writeHead(200, { 'content-type': 'text/event-stream' })
      raw.reply.raw.end('data: x\n\n')
    },
  }),
  route({
    method: 'GET',
    path: '/api/items/:id',
    auth: 'none',
    summary: '',
    params: z.object({ id: z.string() }),
    response: z.unknown(),
    handler: async ({ params }) => params,
  }),
  route({
    method: 'POST',
    path: '/api/agent',
    auth: 'agent',
    summary: '',
    response: z.unknown(),
    handler: count,
  }),
  route({
    method: 'POST',
    path: '/api/approve',
    auth: 'approvals/answer',
    summary: '',
    response: z.unknown(),
    handler: async ({ principal }) => principal,
  }),
  route({
    method: 'GET',
    path: '/api/maintenance',
    auth: 'maintenance',
    summary: '',
    response: z.unknown(),
    handler: count,
  }),
  route({
    method: 'GET',
    path: '/api/operator',
    auth: 'operator',
    summary: '',
    response: z.unknown(),
    handler: count,
  }),
]
const auth: AuthDeps = {
  identify: {
    session: async () => undefined,
    approverKey: async (key) =>
      key === 'svc_user_good'
        ? {
            kind: 'user',
            userId: 'usr_1',
            email: 'a@b.c',
            role: 'member',
            groups: [],
            via: 'approver_key',
            namespaces: 'all',
          }
        : undefined,
    agentKey: async (key) =>
      key === 'svc_test_good'
        ? { kind: 'agent', agentId: 'agent_1', name: 'a', capabilities: [] }
        : undefined,
    ownProcesses: async () => undefined,
    gatewayToken: async () => undefined,
  },
  isTokenRestricted: async () => false,
  adminTokenHash: null,
  operatorTokenHash: sha256('operator-secret'),
  maintenanceSecretHash: null,
  publicUrl: null,
}
const SERVER = {
  tls: null,
  routes,
  auth,
  log: pino({ level: 'silent' }),
  version: '1.2.3',
  listenHost: '127.0.0.1',
  trustedProxies: [],
} as const
const app = createHttpServer(SERVER)
let port = 0

beforeAll(async () => {
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  port = Number(new URL(url).port)
})
afterAll(() => app.close())

const send = (method: string, path: string, init: RequestInit = {}) =>
  fetch(`http://127.0.0.1:${port}${path}`, { method, ...init })
const post = (path: string, body: string, type = 'application/json') =>
  send('POST', path, { body, headers: { 'content-type': type } })
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

describe('every answer under /api', () => {
  test.each([
    ['200', () => post('/api/echo', '{"name":"x"}'), 200],
    ['400', () => post('/api/echo', '{'), 400],
    ['401', () => send('GET', '/api/operator'), 401],
    ['404', () => send('GET', '/api/nothing'), 404],
    ['413', () => post('/api/small', '"12345678901234567890"'), 413],
    ['413 without sign-in', () => post('/api/echo', JSON.stringify({ name: 'x'.repeat(65_536) })), 413],
    ['415', () => post('/api/echo', 'name=x', 'application/x-www-form-urlencoded'), 415],
    [
      '415 of plain text, which needs no preflight',
      () => post('/api/echo', '{"name":"x"}', 'text/plain'),
      415,
    ],
    ['429', () => send('GET', '/api/busy'), 429],
    ['500', () => send('GET', '/api/boom'), 500],
    ['a bad escape in the path', () => send('GET', '/api/items/%E0%A4'), 400],
    ['a stream that takes the socket', () => send('GET', '/api/raw'), 200],
  ])('has a request id and the version: %s', async (_name, call, status) => {
    const answer = await call()
    expect(answer.status).toBe(status)
    expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9A-Za-z]{20}$/)
    expect(answer.headers.get('x-service-version')).toBe('1.2.3')
    if (status >= 400)
      expect(await answer.json()).toMatchObject({ error: expect.any(String), message: expect.any(String) })
  })

  test('has an id that the caller cannot choose', async () => {
    const answer = await send('GET', '/api/items/1', {
      headers: { 'x-request-id': 'mine', 'request-id': 'mine' },
    })
    expect(answer.headers.get('x-request-id')).not.toBe('mine')
  })

  test('to an internal error does not contain its cause', async () => {
    expect(await (await send('GET', '/api/boom')).text()).toBe(
      '{"error":"Internal error","message":"Internal error"}',
    )
  })

  test('to too many requests has Retry-After', async () => {
    const answer = await send('GET', '/api/busy')
    expect(answer.headers.get('retry-after')).toBe('7')
    expect(await answer.json()).toMatchObject({ error: 'Rate limit exceeded', retry_after: 7 })
  })
})

describe('input', () => {
  test.each([
    ['{}', 'name: is required'],
    ['', 'name: is required'],
    ['{"name":1}', 'name: must be a string, not a number'],
    ['{"name":"x","extra":1}', 'extra: is not a known field'],
    [
      '{"name":"a\\u0000b"}',
      'name: the text has a NUL character or an incomplete Unicode character; remove it',
    ],
    [
      '{"name":"\\ud800"}',
      'name: the text has a NUL character or an incomplete Unicode character; remove it',
    ],
    [
      '{"name":"x","deep":{"a\\u0000":1}}',
      'deep: the text has a NUL character or an incomplete Unicode character; remove it',
    ],
    ['{"name":"x","deep":{"n":[1,1e400]}}', 'deep.n.1: the number is too large to be stored'],
  ])('%s is rejected with the name of the field', async (body, details) => {
    const answer = await post('/api/echo', body)
    expect(answer.status).toBe(400)
    expect(await answer.json()).toEqual({ error: 'Validation failed', details, message: details })
  })

  test('with deep nesting is rejected without recursion', async () => {
    const answer = await post('/api/echo', `{"name":"x","deep":${'['.repeat(30_000)}${']'.repeat(30_000)}}`)
    expect(answer.status).toBe(400)
  })

  test('with invalid UTF-8 is rejected', async () => {
    const before = handled
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0xaf]]) {
      const body = Buffer.concat([Buffer.from('{"name":"a'), Buffer.from(bytes), Buffer.from('"}')])
      const answer = await send('POST', '/api/echo', {
        body,
        headers: { 'content-type': 'application/json' },
      })
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({ message: 'body: is not valid UTF-8' })
    }
    expect(handled).toBe(before)
    expect(await (await post('/api/echo', '{"name":"grüße 🙂"}')).json()).toEqual({ name: 'grüße 🙂' })
  })

  test('with prototype keys is rejected', async () => {
    expect((await post('/api/echo', '{"name":"x","__proto__":{"a":1}}')).status).toBe(400)
  })

  test('with a NUL in the path is rejected', async () => {
    expect((await send('GET', '/api/items/a%00b')).status).toBe(400)
  })
})

describe('callers', () => {
  test('without a valid key never reach a handler', async () => {
    const before = handled
    const answers = await Promise.all([
      send('POST', '/api/agent'),
      send('POST', '/api/agent', bearer('svc_test_wrong')),
      send('POST', '/api/agent', { headers: { authorization: 'Basic svc_test_good' } }),
      send('GET', '/api/operator', bearer('wrong')),
      // No maintenance secret is configured.
      send('GET', '/api/maintenance', bearer('')),
      send('GET', '/api/maintenance', bearer('undefined')),
    ])
    expect(answers.map((answer) => answer.status)).toEqual(Array(6).fill(401))
    expect(handled).toBe(before)
  })

  test('with the right one do', async () => {
    expect((await send('POST', '/api/agent', bearer('svc_test_good'))).status).toBe(200)
    expect((await send('GET', '/api/operator', bearer('operator-secret'))).status).toBe(200)
  })

  test('may approve with an approver key, never with an agent key', async () => {
    expect(await (await send('POST', '/api/approve', bearer('svc_user_good'))).json()).toMatchObject({
      via: 'approver_key',
      namespaces: 'all',
    })
    expect((await send('POST', '/api/approve', bearer('svc_test_good'))).status).toBe(403)
    expect((await send('POST', '/api/approve', bearer('svc_user_bad'))).status).toBe(401)
  })

  test('with a foreign name that resolves to loopback are rejected', async () => {
    expect(await raw('GET /api/items/1 HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 421 /,
    )
    expect(await raw('GET /api/items/1 HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 200 /,
    )
  })

  test('with as many cookies as a page can set are served on loopback; elsewhere the error has the remedy', async () => {
    const cookies = (count: number) =>
      Array.from({ length: count }, (_, n) => `planted${n}=${'x'.repeat(4_080)}`).join('; ')
    const request = (count: number) =>
      `GET /api/items/1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: ${cookies(count)}\r\n\r\n`
    expect(await raw(request(180))).toMatch(/^HTTP\/1\.1 200 /)
    const elsewhere = createHttpServer({ ...SERVER, listenHost: '0.0.0.0' })
    const url = await elsewhere.listen({ host: '127.0.0.1', port: 0 })
    try {
      const at = Number(new URL(url).port)
      expect(await raw(request(15), at)).toMatch(/^HTTP\/1\.1 200 /)
      expect(await raw(request(17), at)).toMatch(
        /^HTTP\/1\.1 431 .*remove the cookies of this host.*kubectl chaperone kill on/s,
      )
    } finally {
      await elsewhere.close()
    }
  })

  test('that do not send HTTP get an error with id and version before the connection closes', async () => {
    const nonsense = await raw('NONSENSE\r\n\r\n')
    expect(nonsense).toMatch(/^HTTP\/1\.1 400 .*malformed request/s)
    const long = `GET /api/items/1 HTTP/1.1\r\nHost: localhost\r\nX: ${'a'.repeat(1_100_000)}\r\n\r\n`
    const tooLong = await raw(long)
    expect(tooLong).toMatch(/^HTTP\/1\.1 431 .*remove the cookies of this host.*chaperone kill on/s)
    for (const answer of [nonsense, tooLong]) {
      expect(answer).toMatch(/\r\nX-Request-Id: req_[0-9A-Za-z]{20}\r\n/i)
      expect(answer).toMatch(/\r\nX-Service-Version: 1\.2\.3\r\n/i)
    }
  })
})

describe('the rate window', () => {
  test('admits the limit in any minute per key, returns the time to wait, and does not count refused requests', () => {
    let now = 1_000
    const window = createRateWindow(3, () => now)
    expect([window.hit('a'), window.hit('a'), window.hit('a')].every((taken) => taken.ok)).toBe(true)
    now += 59_500
    expect(window.hit('a')).toEqual({ ok: false, retryAfterS: 1 })
    expect(window.hit('b').ok).toBe(true)
    now += 500
    expect([window.hit('a').ok, window.hit('a').ok, window.hit('a').ok, window.hit('a').ok]).toEqual([
      true,
      true,
      true,
      false,
    ])
  })
})

function raw(bytes: string, to = port): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(to, '127.0.0.1', () => socket.write(bytes))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += chunk.toString()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}
