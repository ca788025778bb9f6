import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type Server } from 'node:tls'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createGatewayCa } from '../../controlplane/crypto/gateway-ca.ts'
import { createKeyring } from '../../controlplane/crypto/keyring.ts'
import { issueCa } from '../../sidecar/tls/issued-ca.ts'
import { hasCommand } from '../support/has-command.ts'
import { IS_FULL } from '../support/proof.ts'

/** Unmodified TLS clients against leaves below intermediates with Name Constraints. */
const run = promisify(execFile)
const CLIENTS = new URL('./tls/', import.meta.url).pathname
const ca = createGatewayCa(createKeyring(randomBytes(32)), Date.now())
const many = Array.from({ length: 500 }, (_, at) => `service-${at}.team-${at % 7}.example.com`)

/** Hosts that the intermediate is issued for; hosts that clients accept below it; hosts that they refuse. */
const SETS: readonly {
  readonly hosts: readonly string[]
  readonly ok: readonly string[]
  readonly refused: readonly string[]
}[] = [
  {
    hosts: [
      'api.example.com',
      'wild.example',
      'api.mixed.example',
      'xn--bcher-kva.example',
      '192.0.2.7',
      '2001:db8::7',
    ],
    ok: [
      ...['api.example.com', 'below.api.example.com', 'wild.example', 'a.wild.example', 'a.b.wild.example'],
      ...['api.mixed.example', 'API.Mixed.EXAMPLE', 'xn--bcher-kva.example', '192.0.2.7', '2001:db8::7'],
    ],
    refused: [
      ...[
        'example.com',
        'www.example.com',
        'xapi.example.com',
        'api.example.org',
        'notwild.example',
        'other.test',
      ],
      ...['xn--bcher-lva.example', 'api.example.com.evil.test', 'localhost', 'none.invalid.evil.test'],
      ...[
        '192.0.2.6',
        '192.0.2.8',
        '192.0.3.7',
        '127.0.0.1',
        '2001:db8::8',
        '2001:db9::7',
        '::1',
        '::ffff:192.0.2.7',
      ],
    ],
  },
  { hosts: ['only.example'], ok: ['only.example'], refused: ['192.0.2.7', '2001:db8::7', 'other.example'] },
  { hosts: ['192.0.2.9'], ok: ['192.0.2.9'], refused: ['only.example', '2001:db8::9', '192.0.2.7'] },
  { hosts: ['2001:db8::9'], ok: ['2001:db8::9'], refused: ['only.example', '192.0.2.9'] },
  { hosts: [], ok: [], refused: ['only.example', '192.0.2.7', '2001:db8::7', 'localhost'] },
  {
    hosts: many,
    ok: [...many.slice(0, 2), ...many.slice(-2)],
    refused: ['service-500.team-3.example.com', 'team-1.example.com'],
  },
]

type Case = { readonly host: string; readonly port: number; readonly isOk: boolean; readonly chain: string }
let dir = ''
const cases: Case[] = []
const servers: Server[] = []
/** Connects to the port on this machine, whatever the host is. */
const proxy = createHttpServer().on('connect', (request, socket) => {
  const port = Number(request.url?.split(':').at(-1))
  const server = connect(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    server.pipe(socket).pipe(server)
  })
  for (const one of [socket, server]) one.on('error', () => [socket, server].map((end) => end.destroy()))
})

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'name-constraints-'))
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  writeFileSync(join(dir, 'root.crt'), ca.caPem)
  for (const { hosts, ok, refused } of SETS) {
    const sign = async (request: string): Promise<string> =>
      ca.issue(request, { subject: 'team/bot', hosts, nowMs: Date.now() }).chain
    const { ca: intermediate } = await issueCa('team/bot', sign)
    for (const [isOk, list] of [
      [true, ok],
      [false, refused],
    ] as const)
      for (const host of list) {
        const { key, cert } = intermediate.mint(host.toLowerCase())
        const server = createServer({ key, cert }, (socket) => {
          socket.on('error', () => undefined)
          socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n'))
        })
        server.on('tlsClientError', () => undefined)
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
        servers.push(server)
        const { port } = server.address() as AddressInfo
        cases.push({ host, port, isOk, chain: cert })
      }
  }
  writeFileSync(join(dir, 'cases.json'), JSON.stringify(cases.map(({ host, port }) => ({ host, port }))))
  const textOf = (list: readonly Case[]) => list.map(({ host, port }) => `${host} ${port}\n`).join('')
  writeFileSync(join(dir, 'cases.txt'), textOf(cases))
  for (const half of [0, 1]) writeFileSync(join(dir, `half-${half}.txt`), textOf(halfOf(half)))
})

/** Every second case; all in the nightly run. git and wget have the same TLS library, and one process for each case. */
function halfOf(half: number): readonly Case[] {
  return cases.filter((_, at) => IS_FULL || at % 2 === half)
}

afterAll(() => {
  proxy.close()
  for (const server of servers) server.close()
  rmSync(dir, { recursive: true, force: true })
})

test('OpenSSL verifies them, also by its strict rules', async () => {
  for (const { host, isOk, chain } of cases) {
    writeFileSync(join(dir, 'chain.crt'), chain)
    const name = /^[\d.]+$|:/.test(host) ? ['-verify_ip', host] : ['-verify_hostname', host]
    const options = [
      'verify',
      '-x509_strict',
      '-purpose',
      'sslserver',
      ...name,
      '-CAfile',
      join(dir, 'root.crt'),
    ]
    const ran = run('openssl', [...options, '-untrusted', join(dir, 'chain.crt'), join(dir, 'chain.crt')])
    if (isOk) expect((await ran).stdout, host).toContain('OK')
    else await expect(ran, host).rejects.toThrow(/permitted subtree violation/)
  }
})

const python = ['python3', join(CLIENTS, 'client.py'), 'cases.json', 'root.crt']
describe.each<[string, readonly string[], RegExp]>([
  [
    'Node',
    [process.execPath, join(CLIENTS, 'client.mjs'), 'cases.json', 'root.crt'],
    /permitted subtree violation/,
  ],
  ['Python', python, /permitted subtree violation/],
  ['curl', ['sh', join(CLIENTS, 'client.sh'), 'cases.txt', 'root.crt'], /permitted subtree violation/],
  [
    'Go',
    ['go', 'run', join(CLIENTS, 'client.go'), 'cases.json', 'root.crt'],
    /not authorized to sign for this name/,
  ],
  ['Java', ['java', join(CLIENTS, 'Client.java'), 'cases.txt', 'root.crt'], /name constraints/],
  ['git', ['git', 'sh', join(CLIENTS, 'gnutls.sh'), 'half-0.txt', 'root.crt', 'git'], /certificate/],
  ['wget', ['wget', 'sh', join(CLIENTS, 'gnutls.sh'), 'half-1.txt', 'root.crt', 'wget'], /certificate/],
])('%s', (name, [command = '', ...args], reason) => {
  test.skipIf(!hasCommand(command))(
    'accepts the permitted names and no other',
    { timeout: 120_000 },
    async () => {
      const { port } = proxy.address() as AddressInfo
      const { stdout } =
        args[0] === 'sh'
          ? await run('sh', [...args.slice(1), `http://127.0.0.1:${port}`], { cwd: dir })
          : await run(command, args, { cwd: dir })
      const seen = stdout.trim().split('\n')
      const outcomes = seen.map((line) => line.split(' ').slice(0, 2).join(' '))
      const wanted = { git: halfOf(0), wget: halfOf(1) }[name] ?? cases
      expect(outcomes, stdout).toEqual(wanted.map(({ host, isOk }) => `${host} ${isOk ? 'ok' : 'refused'}`))
      for (const line of seen.filter((line) => !line.endsWith(' ok'))) expect(line).toMatch(reason)
    },
  )
})
