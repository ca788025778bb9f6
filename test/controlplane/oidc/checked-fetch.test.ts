import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { resolveByDns } from '../../../controlplane/features/gateways/dial.ts'
import { createCheckedFetch } from '../../../controlplane/features/oidc/checked-fetch.ts'
import type { Address } from '../../../core/request/outbound-address.ts'

let server: Server
let port = 0
let requests = 0
beforeAll(async () => {
  server = createServer((request, reply) => {
    requests++
    if (request.url === '/moved') return void reply.writeHead(307, { location: '/' }).end()
    if (request.url === '/empty') return void reply.writeHead(204).end()
    if (request.url === '/long') return void reply.end('x'.repeat(2 * 1024 * 1024))
    if (request.url === '/silent') return
    request.setEncoding('utf8')
    let body = ''
    request.on('data', (text) => {
      body += text
    })
    request.on('end', () => {
      reply.setHeader('set-cookie', ['a=1', 'b=2'])
      reply.end(JSON.stringify({ body, type: request.headers['content-type'], method: request.method }))
    })
  })
  await new Promise<void>((done) => server.listen(0, '::', done))
  port = (server.address() as AddressInfo).port
})
afterAll(() => server.close())

const resolvesTo =
  (...addresses: readonly string[]) =>
  async (): Promise<readonly Address[]> =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
const causeOf = async (
  url: string,
  resolve: (host: string) => Promise<readonly Address[]> = resolveByDns,
) => {
  const error = await createCheckedFetch(resolve)(url).then(
    () => null,
    (failed: unknown) => failed,
  )
  expect(error).toBeInstanceOf(TypeError)
  return String((error as { cause?: { message?: string } }).cause?.message)
}

/** Linux takes the unspecified addresses for this machine, so that the request would arrive. */
const LITERALS = [
  ...[
    '0.0.0.0',
    '[::]',
    '[::ffff:0.0.0.0]',
    '0',
    '0x0',
    '00000000',
    '[::ffff:0:0]',
    '000.000.000.000',
    '0.0',
  ],
  ...[
    '169.254.169.254',
    '2852039166',
    '0xa9fea9fe',
    '0251.0376.0251.0376',
    '169.254.43518',
    '169.254.169.254.',
  ],
  ...[
    '[fe80::1]',
    '[::ffff:169.254.169.254]',
    '[::ffff:a9fe:a9fe]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:a9fe:a9fe::1]',
  ],
  ...['[fd00:ec2::254]', '100.100.100.200', '224.0.0.1', '255.255.255.255', '[ff02::1]', '169.254.1.1'],
]

describe('an address of the identity provider', () => {
  test.each(LITERALS)('is refused: https://%s', async (host) => {
    const before = requests
    expect(await causeOf(`https://${host}:${port}/`)).toMatch(/nothing was sent/)
    expect(await causeOf(`http://${host}:${port}/`)).toMatch(/nothing was sent/)
    expect(requests).toBe(before)
  })

  test.each([
    ['a metadata service', ['169.254.169.254']],
    ['an unspecified address', ['0.0.0.0']],
    ['a good and a bad address', ['127.0.0.1', '169.254.169.254']],
    ['a bad and a good address', ['fe80::1', '127.0.0.1']],
  ])('is refused when its name leads to %s', async (_what, addresses) => {
    const before = requests
    expect(await causeOf(`https://idp.example.com:${port}/`, resolvesTo(...addresses))).toMatch(
      /nothing was sent/,
    )
    expect(await causeOf(`http://localhost:${port}/`, resolvesTo(...addresses))).toMatch(/nothing was sent/)
    expect(requests).toBe(before)
  })

  test.each([
    'http://10.0.0.1/',
    'http://idp.example.com/',
    'http://192.0.2.1/',
    'ftp://127.0.0.1/',
    'file:///etc/passwd',
  ])('is refused without TLS outside of loopback: %s', async (url) =>
    expect(await causeOf(url, resolvesTo('127.0.0.1'))).toMatch(/must begin with https:/),
  )

  test('is dialed at the checked address, and its name is resolved once', async () => {
    let calls = 0
    const rebinding = async () =>
      calls++ === 0 ? resolvesTo('127.0.0.1')() : resolvesTo('169.254.169.254')()
    const answer = await createCheckedFetch(rebinding)(`http://localhost:${port}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ code: 'a b' }),
    })
    expect([calls, answer.status, await answer.json()]).toEqual([
      ...[1, 200],
      { body: 'code=a+b', type: 'application/x-www-form-urlencoded', method: 'POST' },
    ])
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  })

  test('is not followed when it redirects', async () => {
    const before = requests
    const moved = await createCheckedFetch(resolveByDns)(`http://127.0.0.1:${port}/moved`)
    expect([moved.status, requests]).toEqual([307, before + 1])
    expect((await createCheckedFetch(resolveByDns)(`http://127.0.0.1:${port}/empty`)).status).toBe(204)
  })

  test('ends at 1 MiB, and at the time limit of the caller', async () => {
    await expect(createCheckedFetch(resolveByDns)(`http://127.0.0.1:${port}/long`)).rejects.toThrow(
      /more than 1048576 bytes/,
    )
    const limited = { signal: AbortSignal.timeout(50) }
    const silent = createCheckedFetch(resolveByDns)(`http://127.0.0.1:${port}/silent`, limited)
    await expect(silent).rejects.toMatchObject({ name: 'TimeoutError' })
    const unresolved = () => new Promise<never>(() => undefined)
    const hanging = createCheckedFetch(unresolved)(`http://localhost:${port}/`, {
      signal: AbortSignal.timeout(50),
    })
    await expect(hanging).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})
