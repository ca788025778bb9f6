import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import tls from 'node:tls'
import pino from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { AuthDeps } from '../../../controlplane/http/auth/authenticate.ts'
import type { ConnectionLimitOptions } from '../../../controlplane/http/connection-limits.ts'
import { route } from '../../../controlplane/http/route.ts'
import { createHttpServer } from '../../../controlplane/http/server.ts'
import { eventually } from '../../support/eventually.ts'
import { createTestCa } from '../../support/test-ca.ts'

const LIMITS: ConnectionLimitOptions = {
  ...{ maxConnections: 1_000, maxUnauthenticated: 20, maxPerPrincipal: 5, maxPerGateway: 10 },
}
const auth: AuthDeps = {
  identify: {
    session: async () => undefined,
    approverKey: async () => undefined,
    agentKey: async (key) => {
      const name = key.replace('svc_test_', '')
      return name === 'bad' ? undefined : { kind: 'agent', agentId: name, name, capabilities: [] }
    },
    ownProcesses: async () => undefined,
    gatewayToken: async (token) => ({ id: token, name: token }),
  },
  isTokenRestricted: async () => false,
  ...{ adminTokenHash: null, operatorTokenHash: null, maintenanceSecretHash: null, publicUrl: null },
}
const routes = (['agent', 'gateway', 'none'] as const).map((who) =>
  route({
    method: 'GET',
    path: `/api/${who}`,
    auth: who,
    summary: '',
    response: z.unknown(),
    handler: async () => ({ ok: true }),
  }),
)

const sockets: Socket[] = []
let close = async () => undefined as unknown
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await close()
})

async function start(limits: Partial<ConnectionLimitOptions> = {}, isTls = false): Promise<number> {
  const ca = createTestCa()
  const app = createHttpServer({
    ...{
      routes,
      auth,
      log: pino({ level: 'silent' }),
      version: '1',
      listenHost: '127.0.0.1',
      trustedProxies: [],
    },
    tls: isTls
      ? {
          certificate: ca.issue('127.0.0.1'),
          clientCa: null,
          SNICallback: (_host: string, done: (error: null) => void) => done(null),
          keepFresh: () => undefined,
        }
      : null,
    connectionLimits: { ...LIMITS, ...limits },
  } as Parameters<typeof createHttpServer>[0])
  close = () => app.close()
  return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
}

type Client = { readonly socket: Socket; text: string; isClosed: boolean }

async function open(port: number, { isTls = false, from = '127.0.0.1' } = {}): Promise<Client> {
  const raw = connect({ port, host: '127.0.0.1', localAddress: from })
  const socket = isTls ? tls.connect({ socket: raw, rejectUnauthorized: false }) : raw
  sockets.push(raw, socket)
  const client: Client = { socket, text: '', isClosed: false }
  for (const one of [raw, socket]) one.on('error', () => one.destroy())
  socket.on('data', (chunk: Buffer) => {
    client.text += chunk.toString()
  })
  raw.once('close', () => {
    client.isClosed = true
  })
  await once(socket, isTls ? 'secureConnect' : 'connect')
  return client
}

const get = (path: string, token = '') =>
  `GET /api/${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Process-Id: p\r\n${token === '' ? '' : `Authorization: Bearer ${token}\r\n`}\r\n`

async function ask(client: Client, text: string): Promise<number> {
  client.text = ''
  client.socket.write(text)
  await eventually('an answer', () => /\r\n\r\n/.test(client.text) || client.isClosed || null)
  return client.isClosed ? 0 : Number(client.text.split(' ')[1])
}

async function openMany(port: number, count: number, options = {}): Promise<Client[]> {
  const clients: Client[] = []
  for (let at = 0; at < count; at++) clients.push(await open(port, options))
  return clients
}

const closed = (clients: readonly Client[]) => clients.filter(({ isClosed }) => isClosed).length

describe.each([
  ['plain', false],
  ['TLS', true],
])('the listener (%s)', (_what, isTls) => {
  test.each([
    ['say nothing', ''],
    ['never end their head', 'GET /api/none HTTP/1.1\r\nX: '],
    ['call what anybody may call', get('none')],
    ['present a wrong key', get('agent', 'svc_test_bad')],
  ])('accepts other callers besides connections that %s', async (_how, text) => {
    const port = await start({}, isTls)
    const honest = await open(port, { isTls })
    expect(await ask(honest, get('agent', 'svc_test_honest'))).toBe(200)
    const flood: Client[] = []
    for (let at = 0; at < 60; at++) {
      const client = await open(port, { isTls })
      if (text !== '') client.socket.write(text)
      flood.push(client)
    }
    await eventually('the oldest have left', () => closed(flood) === 40 || null)
    expect(flood.slice(0, 40).every(({ isClosed }) => isClosed)).toBe(true)
    expect(await ask(honest, get('agent', 'svc_test_honest'))).toBe(200)
    expect(await ask(await open(port, { isTls }), get('agent', 'svc_test_other'))).toBe(200)
    expect(await ask(await open(port, { isTls }), get('none'))).toBe(200)
  })

  test('limits the connections of one agent without affecting others', async () => {
    const port = await start({}, isTls)
    const honest = await open(port, { isTls })
    expect(await ask(honest, get('agent', 'svc_test_honest'))).toBe(200)
    const flood = await openMany(port, 15, { isTls })
    for (const client of flood) await ask(client, get('agent', 'svc_test_flooder'))
    await eventually('the oldest have left', () => closed(flood) === 10 || null)
    expect(await ask(honest, get('agent', 'svc_test_honest'))).toBe(200)
    const again = await open(port, { isTls })
    expect(await ask(again, get('agent', 'svc_test_flooder'))).toBe(200)
    expect(honest.isClosed).toBe(false)
  })
})

test('the address with the most unauthenticated connections loses one first', async () => {
  const port = await start()
  const slow = await open(port, { from: '127.0.0.2' })
  slow.socket.write('GET /api/none HTTP/1.1\r\nHost: 127.0.0.1\r\n')
  const flood = await openMany(port, 200)
  await eventually('the oldest have left', () => closed(flood) === 181 || null)
  expect(await ask(slow, '\r\n')).toBe(200)
})

test('a gateway has a separate limit; a connection counts for its last principal', async () => {
  const port = await start()
  const clients = await openMany(port, 12)
  for (const client of clients) await ask(client, get('gateway', 'gw-1'))
  await eventually('the oldest have left', () => closed(clients) === 2 || null)
  for (const client of clients.slice(2, 6)) expect(await ask(client, get('gateway', 'gw-2'))).toBe(200)
  const more = await openMany(port, 4)
  for (const client of more) expect(await ask(client, get('gateway', 'gw-1'))).toBe(200)
  expect(closed(clients)).toBe(2)
})

test('a closed connection no longer counts', async () => {
  const port = await start()
  for (let round = 0; round < 10; round++) {
    const clients = await openMany(port, 5)
    for (const client of clients) expect(await ask(client, get('agent', 'svc_test_bot'))).toBe(200)
    expect(closed(clients)).toBe(0)
    for (const { socket } of clients) socket.destroy()
    await eventually('all have left', () => closed(clients) === 5 || null)
  }
})
