import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import pino from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readConfig } from '../../../controlplane/config.ts'
import type { DatabaseTlsFiles } from '../../../controlplane/db/connection/tls.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { eventually } from '../../support/eventually.ts'
import { startPostgres, type TestDatabase, type TestPostgres } from '../../support/postgres.ts'
import { createTestCa } from '../../support/test-ca.ts'

const ca = createTestCa('private root')
const folder = mkdtempSync(join(tmpdir(), 'chaperone-db-tls-'))
const log = pino({ level: 'silent' })
let server: TestPostgres
let database: TestDatabase
let data = ''

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const files = (given: Partial<DatabaseTlsFiles> = {}): DatabaseTlsFiles => ({
  ...{ caFile: file('ca.crt', ca.cert), certFile: null, keyFile: null },
  ...given,
})

/** Database URL with the host `localhost`, which the certificate of the server names, and these parameters. */
function url(parameters = ''): string {
  const made = new URL(database.url)
  made.hostname = 'localhost'
  made.search = parameters
  return made.href
}

type Connection = { readonly isEncrypted: boolean; readonly subject: string | null }

/** Opens the database, and returns what the server knows about the connection. */
async function connect(address: string, tls?: DatabaseTlsFiles): Promise<Connection> {
  const db = await openDb({ url: address, log, max: 1, connectMs: 5_000, ...(tls ? { tls } : {}) })
  try {
    const { rows } = await db.query<Connection>(
      'select ssl as "isEncrypted", client_dn as subject from pg_stat_ssl where pid = pg_backend_pid()',
    )
    return rows[0] as Connection
  } finally {
    await db.close()
  }
}

async function refusal(address: string, tls?: DatabaseTlsFiles): Promise<string> {
  const error = await connect(address, tls).then(
    () => null,
    (cause: unknown) => cause,
  )
  if (!(error instanceof Error)) throw new Error('connected')
  return `${error.message} ${String(error.cause)}`
}

/** Writes a file that only the account of PostgreSQL can read. */
function serverFile(name: string, content: string): void {
  const { uid, gid } = statSync(data)
  const path = join(data, name)
  writeFileSync(path, content)
  chownSync(path, uid, gid)
  chmodSync(path, 0o600)
}

async function configure(of: { names: string[]; from?: typeof ca; hba: string }): Promise<void> {
  const { key, cert } = (of.from ?? ca).issue(...of.names)
  serverFile('server.key', key)
  serverFile('server.crt', cert)
  serverFile('root.crt', ca.cert)
  serverFile('pg_hba.conf', `local all all trust\nhost postgres admin all scram-sha-256\n${of.hba}\n`)
  await asAdmin(async (admin) => {
    await admin.query("alter system set ssl_cert_file = 'server.crt'")
    await admin.query("alter system set ssl_key_file = 'server.key'")
    await admin.query("alter system set ssl_ca_file = 'root.crt'")
    await admin.query('alter system set ssl = on')
  })
  const loadedAt = () =>
    asAdmin(async (admin) => (await admin.query('select pg_conf_load_time()::text as at')).rows[0].at)
  const before = await loadedAt()
  await asAdmin((admin) => admin.query('select pg_reload_conf()'))
  await eventually('the server has the new configuration', async () => (await loadedAt()) !== before || null)
}

async function asAdmin<T>(work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.end()
  }
}

const BY_PASSWORD = 'hostssl all all all scram-sha-256'

describe('PostgreSQL over TLS with a private certificate authority', () => {
  beforeAll(async () => {
    server = await startPostgres()
    database = await server.createDatabase()
    data = await asAdmin(async (admin) => (await admin.query('show data_directory')).rows[0].data_directory)
  })
  beforeEach(() => configure({ names: ['localhost'], hba: BY_PASSWORD }))
  afterAll(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true })
  })

  test.each(['', '?sslmode=require', '?sslmode=verify-full&ssl=true'])(
    'is verified by DATABASE_CA_FILE (%s)',
    async (parameters) => {
      expect(await connect(url(parameters), files())).toEqual({ isEncrypted: true, subject: null })
    },
  )

  test('is refused without DATABASE_CA_FILE, and with another certificate authority', async () => {
    expect(await refusal(url('?sslmode=verify-full'))).toMatch(/self-signed|unable to/)
    const other = file('other.crt', createTestCa('another root').cert)
    expect(await refusal(url(), files({ caFile: other }))).toMatch(/self-signed|unable to|signature/)
  })

  test('is refused under another host name, unless sslmode is verify-ca', async () => {
    await configure({ names: ['instance.example.com'], hba: BY_PASSWORD })
    expect(await refusal(url(), files())).toContain("not in the cert's altnames")
    expect(await connect(url('?sslmode=verify-ca'), files())).toMatchObject({ isEncrypted: true })
    await configure({ names: ['instance.example.com'], from: createTestCa('another'), hba: BY_PASSWORD })
    expect(await refusal(url('?sslmode=verify-ca'), files())).toMatch(/self-signed|unable to|signature/)
  })

  test('is refused when sslmode would verify nothing', async () => {
    for (const mode of ['disable', 'no-verify', 'allow'])
      expect(await refusal(url(`?sslmode=${mode}`), files())).toContain(
        'Set sslmode to verify-full or verify-ca',
      )
  })

  test('identifies the client by a certificate, which is renewed without a restart', async () => {
    const role = new URL(database.url).username
    await configure({ names: ['localhost'], hba: 'hostssl all all all scram-sha-256 clientcert=verify-full' })
    expect(await refusal(url(), files())).toContain('requires a valid client certificate')
    const issue = (organization: string) => {
      const { key, cert } = ca.issueTo({ commonNames: [role], organizations: [organization] })
      return { certFile: file('client.crt', cert), keyFile: file('client.key', key) }
    }
    const tls = files(issue('first'))
    const db = await openDb({ url: url(), tls, log, max: 1 })
    const subject = async () => {
      const text = 'select client_dn as "dn" from pg_stat_ssl where pid = pg_backend_pid()'
      return (await db.session((q) => q.query<{ dn: string }>(text))).rows[0]?.dn
    }
    try {
      expect(await subject()).toContain('O=first')
      issue('second')
      expect(await subject()).toContain('O=second')
      rmSync(tls.certFile ?? '')
      expect(await subject()).toContain('O=second')
    } finally {
      await db.close()
    }
  })

  test('is configured by environment variables', () => {
    const env = { DATABASE_URL: 'postgres://u:p@h/db', MASTER_KEY: 'ab'.repeat(32) }
    const given = { DATABASE_CA_FILE: '/ca', DATABASE_CERT_FILE: '/cert', DATABASE_KEY_FILE: '/key' }
    expect(readConfig({ ...env, ...given }).databaseTls).toEqual({
      ...{ caFile: '/ca', certFile: '/cert', keyFile: '/key' },
    })
    expect(() => readConfig({ ...env, DATABASE_CERT_FILE: '/cert' })).toThrow(/belong together/)
  })
})
