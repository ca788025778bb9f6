import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import {
  type ClientDeps,
  type ControlClient,
  createControlClient,
  jsonOf,
} from '../../../sidecar/control/client/client.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { waitFor } from '../../support/wait-for.ts'

let dir = ''
const ends: Array<() => unknown> = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-client-'))
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
  rmSync(dir, { recursive: true, force: true })
})

async function listen(server: Server, scheme: 'http' | 'https'): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function clientOf(url: string, deps: Partial<ClientDeps> = {}): ControlClient {
  const client = createControlClient({ url, token: 'secret', processId: 'proc_1', ...deps })
  ends.push(() => client.close())
  return client
}

/** Answers with what it was sent. */
const echo: RequestListener = (request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const { method, url, headers } = request
    response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(parts).toString() }))
  })
}

describe('a call', () => {
  test('goes to the address that the given resolver returns, and the certificate is checked for the name', async () => {
    const ca = createTestCa()
    const caFile = join(dir, 'ca.crt')
    writeFileSync(caFile, ca.cert)
    const url = await listen(createTlsServer(ca.issue('control-plane.system.svc'), echo), 'https')
    const asked: string[] = []
    const resolve = async (host: string) => {
      asked.push(host)
      return [{ address: '127.0.0.1', family: 4 }]
    }
    const named = url.replace('127.0.0.1', 'control-plane.system.svc')
    expect((await clientOf(named, { caFile, resolve }).get('/x')).status).toBe(200)
    expect(asked).toEqual(['control-plane.system.svc'])
    const other = url.replace('127.0.0.1', 'other.system.svc')
    await expect(clientOf(other, { caFile, resolve }).get('/x')).rejects.toThrow('other.system.svc')
  })

  test('carries token, process and body, below the path that the address has', async () => {
    const url = await listen(createServer(echo), 'http')
    const client = clientOf(`${url}/below/`, { headers: { 'x-pod': 'web-1' } })
    for (const body of [{ a: 'é' }, '{"a":"é"}', Buffer.from('{"a":"é"}')]) {
      const reply = await client.post('/api/x', body)
      expect(reply.status).toBe(200)
      expect(jsonOf(reply)).toMatchObject({
        ...{ method: 'POST', url: '/below/api/x', body: '{"a":"é"}' },
        headers: { authorization: 'Bearer secret', 'x-process-id': 'proc_1', 'x-pod': 'web-1' },
      })
    }
    expect(jsonOf(await client.get('/api/y?z=1'))).toMatchObject({
      method: 'GET',
      url: '/below/api/y?z=1',
      body: '',
    })
  })

  test('that is not answered in time is rejected', async () => {
    const url = await listen(
      createServer(() => undefined),
      'http',
    )
    await expect(clientOf(url).get('/', 50)).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  test('has twice the time of the last one that was not answered, until the gateway has its rules', async () => {
    let isStarting = true
    const server = createServer((request, response) => {
      request.resume().on('end', () => setTimeout(() => response.end('{}'), 300))
    })
    const client = clientOf(await listen(server, 'http'), { isStarting: () => isStarting })
    const call = () => client.get('/', 100)
    // Calls side by side double the limit once.
    const first = await Promise.allSettled([call(), call(), call()])
    expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    await expect(call()).rejects.toThrow('within 0.2 s')
    expect((await call()).status).toBe(200)
    isStarting = false
    await expect(call()).rejects.toThrow('within 0.1 s')
  })

  test('has its full time limit once it has a connection, however long it was queued', async () => {
    const server = createServer((request, response) => {
      request.resume().on('end', () => setTimeout(() => response.end('{}'), 60))
    })
    const client = clientOf(await listen(server, 'http'))
    // Eight at a time, so that the last of them waits for longer than one call may take.
    const replies = await Promise.all(Array.from({ length: 200 }, () => client.post('/', {}, 1_000)))
    expect(replies.filter(({ status }) => status !== 200)).toEqual([])
  })

  test('that reports a result does not queue behind holds or records', async () => {
    const asked: ServerResponse[] = []
    const server = createServer((request, response) => {
      const isBulk = request.url === SYNC_PATHS.holds || request.url === SYNC_PATHS.records
      if (isBulk) asked.push(response)
      else response.end('{}')
    })
    const client = clientOf(await listen(server, 'http'))
    const waiting = Promise.allSettled([
      ...Array.from({ length: 100 }, () => client.post(SYNC_PATHS.holds, {})),
      client.post(SYNC_PATHS.records, {}),
    ])
    await waitFor(() => expect(asked.length).toBeGreaterThanOrEqual(8))
    for (const path of [SYNC_PATHS.ack, SYNC_PATHS.results, `${SYNC_PATHS.holds}/apv_1/spend`])
      expect((await client.post(path, {})).status).toBe(200)
    expect(asked).toHaveLength(8)
    server.on('request', (_request, response) => response.end('{}'))
    for (const response of asked) response.end('{}')
    const answers = await waiting
    expect(answers.filter(({ status }) => status !== 'fulfilled')).toEqual([])
  })

  test('that sets or acknowledges a kill switch does not queue behind any other', async () => {
    const urgent: ReadonlySet<string | undefined> = new Set([SYNC_PATHS.ack, SYNC_PATHS.commands])
    let hanging = 0
    const server = createServer((request, response) => {
      if (urgent.has(request.url)) response.end('{}')
      else hanging++
    })
    const client = clientOf(await listen(server, 'http'))
    const paths = Object.values(SYNC_PATHS).filter((path) => !urgent.has(path))
    const waiting = Promise.allSettled(
      Array.from({ length: 20 }, () => paths.map((path) => client.post(path, {}))).flat(),
    )
    await waitFor(() => expect(hanging).toBe(16))
    for (const path of urgent) expect((await client.post(String(path), {})).status).toBe(200)
    await client.close()
    await waiting
  })

  test('that waits when the client is closed is rejected, and never sent', async () => {
    let sent = 0
    const server = createServer(() => sent++)
    const client = clientOf(await listen(server, 'http'))
    const calls = Promise.allSettled(Array.from({ length: 20 }, () => client.post('/', {})))
    await waitFor(() => expect(sent).toBe(8))
    await client.close()
    expect((await calls).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 'rejected'))
    expect(sent).toBe(8)
  })

  test('that finds no connection free for too long is rejected', async () => {
    const silent = createServer(() => undefined)
    const client = clientOf(await listen(silent, 'http'), { maxWaitMs: 50 })
    const taken = Promise.allSettled(Array.from({ length: 8 }, () => client.get('/', 2_000)))
    await expect(client.get('/', 60_000)).rejects.toThrow(
      'no connection to the control plane became available',
    )
    silent.closeAllConnections()
    await taken
  })

  test('with a truncated response is rejected', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-length': 100 })
      response.write('half', () => response.destroy())
    })
    const url = await listen(server, 'http')
    await expect(clientOf(url).get('/')).rejects.toThrow()
  })

  test('without a server is rejected', async () => {
    const server = createServer(echo)
    const url = await listen(server, 'http')
    server.close()
    await once(server, 'close')
    await expect(clientOf(url).get('/')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('uses its connection again', async () => {
    const server = createServer(echo)
    let connections = 0
    server.on('connection', () => connections++)
    const client = clientOf(await listen(server, 'http'))
    for (let n = 0; n < 3; n++) await client.post('/', {})
    expect(connections).toBe(1)
  })
})

describe('the stream', () => {
  test('arrives in pieces, and an abort rejects with its reason', async () => {
    const server = createServer((_request, response) => void response.write('first'))
    const client = clientOf(await listen(server, 'http'))
    const session = new AbortController()
    const reply = await client.open('/stream', session.signal)
    expect(reply.status).toBe(200)
    const pieces: string[] = []
    const reading = (async () => {
      for await (const piece of reply.body) {
        pieces.push(String(piece))
        session.abort(new Error('the control plane went silent'))
      }
    })()
    await expect(reading).rejects.toThrow('the control plane went silent')
    expect(pieces).toEqual(['first'])
  })
})

describe('over TLS', () => {
  test('trusts only the CA certificates currently in the file', async () => {
    const [own, other] = [createTestCa(), createTestCa()]
    const leaf = own.issue('127.0.0.1')
    const url = await listen(createTlsServer({ key: leaf.key, cert: leaf.cert }, echo), 'https')
    const caFile = join(dir, 'ca.crt')
    const client = clientOf(url, { caFile })
    await expect(client.get('/')).rejects.toThrow(/CONTROL_PLANE_CA_FILE: .*ca\.crt cannot be read/)
    writeFileSync(caFile, other.cert)
    await expect(client.get('/')).rejects.toMatchObject({
      code: expect.stringMatching(/CERT|SIGNATURE|LEAF/),
    })
    writeFileSync(caFile, own.cert)
    expect((await client.get('/')).status).toBe(200)
    await expect(clientOf(url).get('/')).rejects.toThrow()
  })
})
