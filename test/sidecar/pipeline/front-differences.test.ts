import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { createAdmit } from '../../../sidecar/pipeline/admit.ts'
import { waitFor } from '../../support/wait-for.ts'
import { RawClient, startFront, type TestFront } from '../listener/harness.ts'
import { type Rules, startWorld, type World } from './test-world.ts'

const KEY = 'svc_test_abc'
const AGENT = { key_sha256: createHash('sha256').update(KEY).digest('hex') }
const TOKEN = Buffer.from(`builder:${KEY}`).toString('base64')

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

async function start(rules: Rules): Promise<{ world: World; front: TestFront }> {
  const world = await startWorld({ agents: [AGENT], ...rules })
  const front = await startFront({ handle: world.run, refuse: world.run, admit: createAdmit(world.ports) })
  open.push(world, front)
  return { world, front }
}

async function connected(front: TestFront, authority: string, host = authority) {
  const socket = connect(front.port, '127.0.0.1')
  socket.write(
    `CONNECT ${authority} HTTP/1.1\r\nHost: ${host}\r\nProxy-Authorization: Basic ${TOKEN}\r\n\r\n`,
  )
  const [head] = await once(socket, 'data')
  return { socket, head: String(head) }
}

async function secured(front: TestFront, authority: string, servername: string): Promise<RawClient> {
  const { socket, head } = await connected(front, authority)
  expect(head).toContain(' 200 ')
  const secure = connectTls({ socket, servername, ca: front.ca.certPem, ALPNProtocols: ['http/1.1'] })
  await once(secure, 'secureConnect')
  return new RawClient(secure)
}

describe('CONNECT', () => {
  const rules: Rules = { permissions: [['codehost.*', 'allow']] }

  it.each([
    ['api.github.com.:443', 'api.github.com'],
    ['API.GitHub.com.:443', 'api.github.com.'],
    ['api.github.com:443', 'api.github.com.'],
  ])('to %s is to the host, whose requests are governed', async (authority, host) => {
    const { world, front } = await start(rules)
    const client = await secured(front, authority, 'api.github.com')
    client.send(`GET /user HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(await client.all()).toContain('HTTP/1.1 200')
    await waitFor(() => expect(world.records).toHaveLength(1))
    expect(world.records[0]).toMatchObject({ host: 'api.github.com', decision: 'ALLOW' })
    expect(world.records[0]?.action_type).toMatch(/^codehost\.user/)
    expect(world.upstream.seen[0]?.header('authorization')).toBeDefined()
  })

  it.each([
    'api.github.com..:443',
    '.api.github.com:443',
    '.:443',
    'api..github.com:443',
    'api.github.com.:0443x',
    '[api.github.com]:443',
    'api.github.com~:443',
    'api.github.com',
  ])('to %s is refused', async (authority) => {
    const { world, front } = await start({
      permissions: [['*', 'allow']],
      gateway: { egress: { unmatchedHosts: 'tunnel' } } as never,
    })
    const { head } = await connected(front, authority)
    expect(head).toMatch(/^HTTP\/1\.1 400 /)
    await waitFor(() => expect(world.records).toHaveLength(1))
    expect(world.records[0]).toMatchObject({ decision: 'DENY', status: 400 })
    expect(world.upstream.connections).toBe(0)
  })
})

describe('a chunked body that breaks off its framing behind the first chunks', () => {
  const rules: Rules = { permissions: [['codehost.*', 'allow']] }

  it.each([
    ['a size that is no number', 'zz\r\n'],
    ['a size with a sign', '+5\r\nhello\r\n'],
    ['a size with 0x', '0x5\r\nhello\r\n'],
    ['a size with a blank before it', ' 5\r\nhello\r\n'],
    ['a chunk longer than its size', '2\r\nhello\r\n'],
    ['LF for CRLF behind a size', '5\nhello\r\n'],
    ['LF for CRLF behind a chunk', '5\r\nhello\n'],
    ['a last chunk with LF', '0\n\n'],
    ['a trailer that is no header', '0\r\nno header\r\n\r\n'],
    ['a trailer with a NUL', '0\r\nx: a\0b\r\n\r\n'],
    ['a size beyond 2^53', 'ffffffffffffffff\r\n'],
    ['a size without digits', '\r\n'],
    ['an endless size line', `${'0'.repeat(400)}\r\n`],
    ['a negative size', '-1\r\n'],
  ])('by %s is answered with 400, and never whole upstream', async (_what, broken) => {
    const { world, front } = await start(rules)
    let isWhole = false
    let isCut = false
    const started = Promise.withResolvers<void>()
    world.upstream.answerWith((request, response) => {
      request.on('data', () => started.resolve())
      request.on('error', () => {
        isCut = true
      })
      request.on('close', () => {
        isCut ||= !request.complete
      })
      request.on('end', () => {
        isWhole = true
        response.writeHead(200).end()
      })
    })
    const client = await secured(front, 'api.github.com:443', 'api.github.com')
    client.send(
      'POST /repos/o/r/releases/1/assets?name=a HTTP/1.1\r\nHost: api.github.com\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    client.send(`10000\r\n${'x'.repeat(0x10000)}\r\n`)
    await started.promise
    client.send(broken)
    const answer = await client.all()
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('malformed_request')
    await waitFor(() => expect(isCut).toBe(true))
    expect(isWhole).toBe(false)
    await waitFor(() => expect(world.records).toHaveLength(1))
    expect(world.records[0]).toMatchObject({ status: 400, host: 'api.github.com' })
  })

  const UPLOAD = '/repos/o/r/releases/1/assets?name=a'
  it.each([
    ['before the upstream is dialled', 'POST', UPLOAD, 'api.github.com'],
    ['while the body is read for its name', 'PATCH', '/repos/o/r/pulls/1', 'api.github.com'],
    ['while the head of a push is read', 'POST', '/o/r.git/git-receive-pack', 'github.com'],
    ['while the body streams and names the record', 'PUT', '/repos/o/r/contents/a', 'api.github.com'],
  ])('%s is answered with 400 as well', async (_what, method, target, host) => {
    const { world, front } = await start({ ...rules, connectors: [{ domains: [host] }] })
    let isWhole = false
    world.upstream.answerWith((request, response) => {
      request.on('end', () => {
        isWhole = true
        response.writeHead(200).end()
      })
      request.resume()
    })
    const client = await secured(front, `${host}:443`, host)
    const type = 'application/json'
    client.send(
      `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    client.send('5\r\n{"a":\r\n')
    await new Promise(setImmediate)
    client.send('zz\r\n')
    expect(await client.all()).toMatch(/^HTTP\/1\.1 400 /)
    await waitFor(() => expect(world.records).toHaveLength(1))
    expect(world.records[0]).toMatchObject({ status: 400 })
    await waitFor(() => expect(world.upstream.openConnections).toBe(0))
    expect(isWhole).toBe(false)
  })
})
