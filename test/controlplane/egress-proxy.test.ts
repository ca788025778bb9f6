import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, type Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../controlplane/config.ts'
import { createEgressProxy } from '../../controlplane/egress-proxy.ts'
import { createSender } from '../../controlplane/features/notifications/send.ts'
import { createCheckedFetch } from '../../controlplane/features/oidc/checked-fetch.ts'
import { createTestCa } from '../support/test-ca.ts'

const HOST = 'receiver.example.com'
const ca = createTestCa()
let receiver: Server
let proxy: Server
let proxyUrl = ''
/** Targets of the CONNECT requests that the proxy received. */
const asked: string[] = []
const unresolved = async (): Promise<never> => {
  throw new Error('the control plane resolved a name that the proxy resolves')
}

async function listening(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

beforeAll(async () => {
  const answer = (_request: IncomingMessage, response: import('node:http').ServerResponse) =>
    response.end('received')
  receiver = createHttps(ca.issue(HOST), answer)
  const port = await listening(receiver)
  proxy = createHttp()
  proxy.on('connect', (request: IncomingMessage, client: Socket) => {
    asked.push(`${request.url} ${request.headers['proxy-authorization'] ?? ''}`)
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    for (const socket of [upstream, client]) socket.on('error', () => socket.destroy())
  })
  proxyUrl = `http://user:pass@127.0.0.1:${await listening(proxy)}`
})
afterAll(() => {
  for (const server of [receiver, proxy]) {
    server?.closeAllConnections()
    server?.close()
  }
})

const through = (direct: readonly string[] = []) => createEgressProxy({ https: proxyUrl, http: null, direct })
const REQUEST = { headers: {}, body: '{}', readBytes: 100, signal: new AbortController().signal }

test('a notification leaves through the proxy, which resolves the name', async () => {
  asked.length = 0
  const send = createSender({ proxy: through(), resolve: unresolved, ca: [ca.cert] })
  const reply = await send({ ...REQUEST, url: `https://${HOST}/hook` })
  expect(reply).toMatchObject({ status: 200, body: 'received' })
  expect(asked).toEqual([`${HOST}:443 Basic ${Buffer.from('user:pass').toString('base64')}`])
})

test('an address inside the network is refused before the proxy is called', async () => {
  asked.length = 0
  const send = createSender({ proxy: through(), resolve: unresolved })
  await expect(send({ ...REQUEST, url: 'https://10.0.0.7/hook' })).rejects.toMatchObject({
    code: 'address_refused',
  })
  await expect(createCheckedFetch(unresolved, through())('https://169.254.169.254/')).rejects.toThrow(
    'nothing was sent',
  )
  expect(asked).toEqual([])
})

test('calls to the identity provider leave through the proxy, with a verified certificate', async () => {
  asked.length = 0
  const checkedFetch = createCheckedFetch(unresolved, through())
  // The root of the test is no public root.
  await expect(checkedFetch(`https://${HOST}/`)).rejects.toThrow(/self-signed|unable to/)
  expect(asked.map((each) => each.split(' ')[0])).toEqual([`${HOST}:443`])
})

test.each([
  ['https://idp.corp.example/', ['.corp.example'], true],
  ['https://corp.example/', ['.corp.example'], true],
  ['https://corp.example/', ['*.corp.example'], true],
  ['https://notcorp.example/', ['corp.example'], false],
  ['https://10.1.2.3/', ['10.0.0.0/8'], true],
  ['https://11.1.2.3/', ['10.0.0.0/8'], false],
  ['https://[fd00::1]/', ['fd00::/8'], true],
  ['https://anything.example/', ['*'], true],
  ['https://localhost/', [], true],
  ['http://anything.example/', [], true],
])('%s with NO_PROXY %j is called directly: %s', (url, direct, isDirect) => {
  expect(through(direct).agentFor(new URL(url)) === undefined).toBe(isDirect)
})

test('the proxy is configured by the usual variables', () => {
  const env = { DATABASE_URL: 'postgres://u:p@h/db', MASTER_KEY: 'ab'.repeat(32) }
  const given = { HTTPS_PROXY: 'http://proxy:3128', NO_PROXY: '.internal, 10.0.0.0/8' }
  expect(readConfig({ ...env, ...given }).egressProxy).toEqual({
    ...{ https: 'http://proxy:3128', http: null, direct: ['.internal', '10.0.0.0/8'] },
  })
  expect(() => readConfig({ ...env, HTTPS_PROXY: 'proxy:3128' })).toThrow(/HTTPS_PROXY/)
})
