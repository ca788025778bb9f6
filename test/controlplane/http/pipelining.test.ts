import { connect } from 'node:net'
import pino from 'pino'
import { expect, test } from 'vitest'
import * as z from 'zod'
import type { AuthDeps } from '../../../controlplane/http/auth/authenticate.ts'
import { route } from '../../../controlplane/http/route.ts'
import { createHttpServer } from '../../../controlplane/http/server.ts'
import { eventually } from '../../support/eventually.ts'

const one = (token: string, path = '/api/gateway') =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nX-Process-Id: p\r\n\r\n`

type GatewayToken = AuthDeps['identify']['gatewayToken']

async function start(
  gatewayToken: GatewayToken,
  answer: () => Promise<unknown> = async () => ({ ok: true }),
) {
  const nobody = async () => undefined
  const app = createHttpServer({
    ...{
      log: pino({ level: 'silent' }),
      version: '1',
      listenHost: '127.0.0.1',
      trustedProxies: [],
      tls: null,
    },
    auth: {
      identify: {
        ...{ session: nobody, approverKey: nobody, agentKey: nobody, ownProcesses: nobody, gatewayToken },
      },
      isTokenRestricted: async () => false,
      ...{ adminTokenHash: null, operatorTokenHash: null, maintenanceSecretHash: null, publicUrl: null },
    },
    routes: [
      route({
        ...{ method: 'GET', path: '/api/gateway', auth: 'gateway', summary: '', response: z.unknown() },
        handler: async () => ({ ok: true }),
      }),
      route({
        method: 'GET',
        path: '/api/open',
        auth: 'none',
        summary: '',
        response: z.unknown(),
        handler: answer,
      }),
      route({
        method: 'GET',
        path: '/api/slow',
        auth: 'gateway',
        summary: '',
        response: z.unknown(),
        handler: answer,
      }),
    ],
  })
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const socket = connect(Number(port), '127.0.0.1')
  const client = { socket, text: '', isClosed: false }
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => {
    client.text += chunk.toString('latin1')
  })
  socket.once('close', () => {
    client.isClosed = true
  })
  return {
    client,
    async [Symbol.asyncDispose]() {
      socket.destroy()
      await app.close()
    },
  }
}

const answersOf = ({ text }: { readonly text: string }) => text.split('HTTP/1.1 200').length - 1

test('a connection that pipelines requests without a valid token is closed', async () => {
  let asked = 0
  await using world = await start(() => {
    asked++
    return new Promise(() => undefined)
  })
  world.client.socket.write(one('wrong').repeat(20_000))
  await eventually('the connection is closed', () => (world.client.isClosed ? true : null))
  expect(asked).toBeLessThanOrEqual(100)
})

test('a connection that pipelines requests without sign-in is closed', async () => {
  let asked = 0
  await using world = await start(
    async () => undefined,
    () => {
      asked++
      return new Promise(() => undefined)
    },
  )
  world.client.socket.write('GET /api/open HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(20_000))
  await eventually('the connection is closed', () => (world.client.isClosed ? true : null))
  expect(asked).toBeLessThanOrEqual(100)
})

test('answered requests without sign-in no longer count', async () => {
  await using world = await start(async () => undefined)
  for (let round = 1; round <= 5; round++) {
    world.client.socket.write('GET /api/open HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(50))
    await eventually('these are answered', () => (answersOf(world.client) === round * 50 ? true : null))
  }
})

test('an authenticated gateway can repeatedly pipeline 100 requests', async () => {
  await using world = await start(async (token) => ({ id: token, name: token }))
  for (let round = 1; round <= 20; round++) {
    world.client.socket.write(one('good').repeat(100))
    await eventually('all are answered', () => (answersOf(world.client) === round * 100 ? true : null))
  }
})

test.each([
  ['a database that is slow to authenticate', '/api/gateway', true],
  ['an answer that takes long', '/api/slow', false],
])(
  'a connection that was authenticated and pipelines requests beyond that is closed: %s',
  async (_name, path, isHeld) => {
    let asked = 0
    const hold = () => {
      asked++
      return new Promise<never>(() => undefined)
    }
    let isFirst = true
    await using world = await start(async (token) => {
      if (isHeld && !isFirst) return hold()
      isFirst = false
      return { id: token, name: token }
    }, hold)
    world.client.socket.write(one('good'))
    await eventually('the first is answered', () => (answersOf(world.client) === 1 ? true : null))
    world.client.socket.write(one('good', path).repeat(20_000))
    await eventually('the connection is closed', () => (world.client.isClosed ? true : null))
    expect(asked).toBeLessThanOrEqual(100)
  },
)
