import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, rootCertificates, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../../controlplane/config.ts'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { createServerCa, issueServerCertificate } from '../../../controlplane/crypto/server-certificate.ts'
import { createHttpServer } from '../../../controlplane/http/server.ts'
import { openTls } from '../../../controlplane/http/tls.ts'
import { eventually } from '../../support/eventually.ts'
import { createTestCa } from '../../support/test-ca.ts'

const keyring = createKeyring(Buffer.alloc(32, 7))
const log = pino({ level: 'silent' })
const DAY_MS = 86_400_000
const HOSTS = ['control.chaperone.svc', '127.0.0.1'] as const

/** The certificate that a client with the trusted CA `ca` receives, or its error. */
async function visit(port: number, ca: string, servername: string): Promise<string> {
  return await new Promise((resolve) => {
    const socket: TLSSocket = connect({ port, host: '127.0.0.1', ca, servername }, () => {
      const { subjectaltname = '' } = socket.getPeerCertificate()
      socket.destroy()
      resolve(subjectaltname)
    })
    socket.once('error', (error) => resolve(String('code' in error ? error.code : error)))
  })
}

async function serve(config: Parameters<typeof openTls>[0]): Promise<number> {
  const tls = await openTls(config, { keyring, log })
  const server = createServer(tls.certificate)
  tls.keepFresh(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

test('a client that trusts the CA of the master key trusts every replica, and no other server', async () => {
  const port = await serve({ hosts: HOSTS })
  // Another process with the same master key derives the same CA.
  const { caPem } = createServerCa(createKeyring(Buffer.alloc(32, 7)), Date.now() - 86_400_000)
  expect(await visit(port, caPem, HOSTS[0])).toBe('DNS:control.chaperone.svc, IP Address:127.0.0.1')
  expect(await visit(port, caPem, 'other.chaperone.svc')).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
  const stranger = createServerCa(createKeyring(Buffer.alloc(32, 8)), Date.now()).caPem
  expect(await visit(port, stranger, HOSTS[0])).not.toContain('DNS:')
  expect(await visit(port, rootCertificates.join('\n'), HOSTS[0])).not.toContain('DNS:')
})

test('the certificate of a server is renewed by the clock, for clients that trust the CA of years ago', async () => {
  const clock = { now: Date.now() - 5 * DAY_MS }
  const tls = await openTls({ hosts: HOSTS }, { keyring, log, checkMs: 5, nowMs: () => clock.now })
  const server = createServer(tls.certificate)
  tls.keepFresh(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const years = createServerCa(keyring, Date.now() - 3 * 365 * DAY_MS).caPem
  const shown = () =>
    new Promise<X509Certificate>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', ca: years, servername: HOSTS[0] }, () => {
        const { raw } = socket.getPeerCertificate()
        socket.destroy()
        resolve(new X509Certificate(raw))
      })
      socket.once('error', reject)
    })
  const first = await shown()
  expect(Date.parse(first.validTo) - Date.now()).toBeLessThan(3 * DAY_MS)
  clock.now += 4 * DAY_MS
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect((await shown()).serialNumber).toBe(first.serialNumber)
  clock.now += DAY_MS
  const renewed = await eventually('another certificate', async () => {
    const found = await shown()
    return found.serialNumber === first.serialNumber ? null : found
  })
  expect(Date.parse(renewed.validTo) - Date.now()).toBeGreaterThan(6 * DAY_MS)
})

test('the CA of servers cannot issue CA certificates', () => {
  const root = new X509Certificate(createServerCa(keyring, Date.now()).caPem)
  expect(root.ca).toBe(true)
  expect(root.subject).toMatch(/^O=Chaperone\nCN=Chaperone control plane [0-9a-f]{8}$/)
})

test('a configured certificate is served, and the error of a missing file names the setting', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chaperone-tls-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const ca = createServerCa(keyring, Date.now())
  const { cert, key } = issueServerCertificate(ca, ['own.example.com'], Date.now())
  const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
  await expect(openTls(files, { keyring, log })).rejects.toThrow(/^TLS_CERT_FILE: cannot read .*ENOENT/)
  await Promise.all([writeFile(files.certFile, cert), writeFile(files.keyFile, key)])
  expect(await visit(await serve(files), ca.caPem, 'own.example.com')).toBe('DNS:own.example.com')
})

test('beside the own hosts, a certificate from files is served to clients that request its hosts, also after its renewal', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chaperone-tls-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
  const [first, second] = [9, 10].map((seed) =>
    createServerCa(createKeyring(Buffer.alloc(32, seed)), Date.now()),
  ) as [ReturnType<typeof createServerCa>, ReturnType<typeof createServerCa>]
  // The own hosts keep the CA that sidecars trust.
  const issued = issueServerCertificate(first, ['public.example.com', HOSTS[0]], Date.now())
  await Promise.all([writeFile(files.certFile, issued.cert), writeFile(files.keyFile, issued.key)])
  let failures = 0
  const counting = pino(
    { level: 'error' },
    {
      write() {
        failures += 1
      },
    },
  )
  const tls = await openTls({ hosts: HOSTS, files }, { keyring, log: counting, checkMs: 5 })
  const server = createServer({ ...tls.certificate, SNICallback: tls.SNICallback })
  tls.keepFresh(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const own = createServerCa(keyring, Date.now()).caPem
  const names = 'DNS:public.example.com, DNS:control.chaperone.svc'
  expect(await visit(port, first.caPem, 'public.example.com')).toBe(names)
  expect(await visit(port, own, 'public.example.com')).not.toContain('DNS:')
  expect(await visit(port, own, HOSTS[0])).toBe('DNS:control.chaperone.svc, IP Address:127.0.0.1')
  // The key still is that of the former certificate: both files are not replaced at once.
  const renewed = issueServerCertificate(second, ['public.example.com'], Date.now())
  await writeFile(files.certFile, renewed.cert)
  await eventually('the pair does not match', () => (failures > 0 ? true : null))
  expect(await visit(port, first.caPem, 'public.example.com')).toBe(names)
  await writeFile(files.keyFile, '')
  const mismatches = failures
  await eventually('the key file is empty', () => (failures > mismatches + 1 ? true : null))
  expect(await visit(port, first.caPem, 'public.example.com')).toBe(names)
  await writeFile(files.keyFile, renewed.key)
  await eventually('the renewed certificate', async () =>
    (await visit(port, second.caPem, 'public.example.com')) === 'DNS:public.example.com' ? true : null,
  )
  expect(await visit(port, own, HOSTS[0])).toBe('DNS:control.chaperone.svc, IP Address:127.0.0.1')
})

/**
 * Serves for `hosts` beside a certificate of files, and trusts the client CAs that `clientCa` returns. `write` replaces
 * the certificate of files by one of the CA `public` for these names.
 */
async function serveBeside(
  hosts: readonly [string, ...string[]],
  names: readonly [string, ...string[]],
  clientCa: () => readonly string[] = () => [],
) {
  const folder = await mkdtemp(join(tmpdir(), 'chaperone-tls-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
  const publicCa = createServerCa(createKeyring(Buffer.alloc(32, 9)), Date.now())
  const write = async (...[first, ...others]: readonly [string, ...string[]]) => {
    const { cert, key } = issueServerCertificate(publicCa, [first, ...others], Date.now())
    await Promise.all([writeFile(files.certFile, cert), writeFile(files.keyFile, key)])
  }
  await write(...names)
  const intervals = { checkMs: 5, clientCaMs: 5, readClientCa: async () => clientCa() }
  const tls = await openTls({ hosts, files }, { keyring, log, ...intervals })
  const app = createHttpServer({
    ...{ routes: [], log, tls, version: '1', listenHost: '127.0.0.1', trustedProxies: [] },
    auth: () => Promise.reject(new Error('no route needs it')),
  } as unknown as Parameters<typeof createHttpServer>[0])
  const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
  onTestFinished(() => app.close())
  const { server } = app
  return { port, server, write, publicCa: publicCa.caPem, own: createServerCa(keyring, Date.now()).caPem }
}

test('the own hosts keep the own certificate when a certificate of files has a wildcard for them', async () => {
  const hosts = ['control.example.com', '*.own.example.com'] as const
  const { port, write, publicCa, own } = await serveBeside(hosts, ['*.example.com', 'a.own.example.com'])
  const areOwn = async () => {
    for (const host of ['control.example.com', 'Control.Example.com', 'a.own.example.com'])
      expect(await visit(port, own, host)).toBe('DNS:control.example.com, DNS:*.own.example.com')
  }
  await areOwn()
  expect(await visit(port, publicCa, 'www.example.com')).toBe('DNS:*.example.com, DNS:a.own.example.com')
  expect(await visit(port, publicCa, 'a.b.example.com')).not.toContain('DNS:')
  await write('*.example.com')
  await eventually('the renewed certificate', async () =>
    (await visit(port, publicCa, 'www.example.com')) === 'DNS:*.example.com' ? true : null,
  )
  await areOwn()
})

test('a host that a renewed certificate no longer has gets the own certificate and the present client CAs', async () => {
  const userCa = createTestCa('users')
  const trusted = { clientCa: [userCa.cert] }
  const names = ['kept.example.com', 'dropped.example.com'] as const
  const started = await serveBeside(HOSTS, names, () => trusted.clientCa)
  const { port, server, write, publicCa, own } = started
  const identity = userCa.issue('ann')
  /** Returns whether the server trusts the client certificate of a connection for the host. */
  const isTrusted = async (servername: string) => {
    const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>
    const client = connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false, ...identity })
    const [{ authorized }] = await accepted
    client.destroy()
    return authorized
  }
  expect(await isTrusted('dropped.example.com')).toBe(true)
  await write('kept.example.com')
  await eventually('the renewed certificate', async () =>
    (await visit(port, publicCa, 'kept.example.com')) === 'DNS:kept.example.com' ? true : null,
  )
  expect(await visit(port, own, 'dropped.example.com')).toBe('ERR_TLS_CERT_ALTNAME_INVALID')
  trusted.clientCa = []
  await eventually('the client CA is withdrawn', async () =>
    (await isTrusted('kept.example.com')) ? null : true,
  )
  expect(await isTrusted('dropped.example.com')).toBe(false)
})

test('invalid settings are rejected by name', () => {
  const env = { DATABASE_URL: 'postgres://u:p@h/db', MASTER_KEY: 'ab'.repeat(32) }
  expect(readConfig(env).tls).toBeNull()
  expect(readConfig({ ...env, TLS_HOSTS: ' a.svc, 10.0.0.1 ' }).tls).toEqual({ hosts: ['a.svc', '10.0.0.1'] })
  expect(() => readConfig({ ...env, TLS_CERT_FILE: '/x' })).toThrow('belong together')
  const files = { certFile: '/x', keyFile: '/y' }
  const both = { ...env, TLS_CERT_FILE: '/x', TLS_KEY_FILE: '/y' }
  expect(readConfig(both).tls).toEqual(files)
  expect(readConfig({ ...both, TLS_HOSTS: 'a.svc' }).tls).toEqual({ hosts: ['a.svc'], files })
  expect(() => readConfig({ ...env, TLS_HOSTS: 'a b' })).toThrow('TLS_HOSTS holds "a b"')
})

test('a key that does not match the certificate is rejected at the start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chaperone-tls-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const { cert } = issueServerCertificate(createServerCa(keyring, Date.now()), ['a.test'], Date.now())
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
  await writeFile(files.certFile, cert)
  await writeFile(files.keyFile, other.export({ type: 'pkcs8', format: 'pem' }))
  await expect(serve(files)).rejects.toThrow(/key values mismatch/)
})
