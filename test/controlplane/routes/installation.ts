import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestDatabase } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { type Call, caller, startControlPlane, type TestControlPlane } from './start.ts'

export const ENROL_TOKEN = 'enrolment-token-of-the-local-gateway'
export const OPERATOR_TOKEN = 'operator-token-of-this-installation'
export const MAINTENANCE_SECRET = 'maintenance-secret-of-this-installation'

export type TestInstallation = AsyncDisposable & {
  readonly database: TestDatabase
  readonly plane: TestControlPlane
  /** With the admin token: acts as an owner. */
  readonly admin: Call
  readonly adminToken: string
  readonly maintenance: Call
  /** Starts another one on the same database; it is closed with the installation. */
  another(env?: Record<string, string>): Promise<TestControlPlane>
  /** Closes every control plane of the database. */
  stop(): Promise<void>
  /** A fresh database of the same server. */
  createDatabase(): Promise<TestDatabase>
  /** Behind the product's back, as a superuser. */
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>
}

/** A control plane with a local gateway's row, on a PostgreSQL of its own. */
export async function startTestInstallation(env: Record<string, string> = {}): Promise<TestInstallation> {
  const server = await workerPostgres()
  const database = await server.createMigratedDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'chaperone-plane-'))
  await writeFile(join(folder, 'enrol.token'), `${ENROL_TOKEN}\n`)
  await writeFile(join(folder, 'operator.token'), `${OPERATOR_TOKEN}\n`)
  const always = {
    ADMIN_TOKEN_FILE: join(folder, 'admin.token'),
    LOCAL_GATEWAY_TOKEN_FILE: join(folder, 'enrol.token'),
    OPERATOR_TOKEN_FILE: join(folder, 'operator.token'),
    MAINTENANCE_SECRET,
    ...env,
  }
  const planes = [await startControlPlane(database, always)]
  const plane = planes[0] as TestControlPlane
  const token = (await readFile(join(folder, 'admin.token'), 'utf8')).trim()
  const pool = new pg.Pool({ connectionString: database.adminUrl, max: 2 })
  pool.on('error', () => undefined)
  const stop = async () => {
    await Promise.all(planes.splice(0).map((each) => each.close()))
  }
  return {
    database,
    plane,
    adminToken: token,
    admin: caller(plane.url, { authorization: `Bearer ${token}` }),
    maintenance: caller(plane.url, { authorization: `Bearer ${MAINTENANCE_SECRET}` }),
    async another(extra = {}) {
      const next = await startControlPlane(database, { ...always, ...extra })
      planes.push(next)
      return next
    },
    stop,
    createDatabase: () => server.createMigratedDatabase(),
    sql: async (text, values = []) => (await pool.query(text, values)).rows,
    async [Symbol.asyncDispose]() {
      await stop()
      await pool.end()
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
