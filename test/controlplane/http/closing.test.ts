import { once } from 'node:events'
import { connect } from 'node:net'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { route } from '../../../controlplane/http/route.ts'
import { createHttpServer } from '../../../controlplane/http/server.ts'

const AUTH = {
  identify: {
    session: async () => undefined,
    approverKey: async () => undefined,
    agentKey: async () => undefined,
    ownProcesses: async () => undefined,
    gatewayToken: async () => undefined,
  },
  ...{
    isTokenRestricted: async () => false,
    adminTokenHash: null,
    operatorTokenHash: null,
    maintenanceSecretHash: null,
    publicUrl: null,
  },
}

test('a request on an open connection during shutdown has a normal response', async () => {
  const entered = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const followed = Promise.withResolvers<void>()
  const slow = route({
    ...{ method: 'GET', path: '/api/slow', auth: 'none', summary: '', response: z.unknown() },
    handler: async () => {
      entered.resolve()
      await release.promise
      return { slow: true }
    },
  })
  const quick = route({
    ...{
      method: 'GET',
      path: '/api/quick',
      auth: 'none',
      summary: '',
      response: z.unknown(),
      handler: async () => {
        followed.resolve()
        return { quick: true }
      },
    },
  })
  const log = pino({ level: 'silent' })
  const given = { tls: null, auth: AUTH, log, version: '1.2.3', listenHost: '127.0.0.1', trustedProxies: [] }
  const app = createHttpServer({ ...given, routes: [slow, quick] })
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  const socket = connect(Number(port), '127.0.0.1')
  let answers = ''
  socket.on('data', (chunk) => {
    answers += chunk.toString()
  })
  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  socket.write(request('/api/slow'))
  await entered.promise
  const closed = app.close()
  socket.write(request('/api/quick'))
  await followed.promise
  release.resolve()
  await once(socket, 'close')
  await closed
  const [, first = '', second = ''] = answers.split('HTTP/1.1 ')
  expect(first).toMatch(/^200 .*\{"slow":true\}$/s)
  expect(second).toMatch(/^200 .*\{"quick":true\}$/s)
  for (const answer of [first, second]) {
    expect(answer).toMatch(/\r\nx-request-id: req_[0-9A-Za-z]{20}\r\n/i)
    expect(answer).toMatch(/\r\nx-service-version: 1\.2\.3\r\n/i)
  }
})
