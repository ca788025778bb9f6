import { generateKeyPairSync, X509Certificate } from 'node:crypto'
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
import { openTls } from '../../../controlplane/http/tls.ts'
import { eventually } from '../../support/eventually.ts'

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
  const authority = createServerCa(keyring, Date.now())
  const { cert, key } = issueServerCertificate(authority, ['own.example.com'], Date.now())
  const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
  await expect(openTls(files, { keyring, log })).rejects.toThrow(/^TLS_CERT_FILE: cannot read .*ENOENT/)
  await Promise.all([writeFile(files.certFile, cert), writeFile(files.keyFile, key)])
  expect(await visit(await serve(files), authority.caPem, 'own.example.com')).toBe('DNS:own.example.com')
})

test('invalid settings are rejected by name', () => {
  const env = { DATABASE_URL: 'postgres://u:p@h/db', MASTER_KEY: 'ab'.repeat(32) }
  expect(readConfig(env).tls).toBeNull()
  expect(readConfig({ ...env, TLS_HOSTS: ' a.svc, 10.0.0.1 ' }).tls).toEqual({ hosts: ['a.svc', '10.0.0.1'] })
  expect(() => readConfig({ ...env, TLS_CERT_FILE: '/x' })).toThrow('belong together')
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
