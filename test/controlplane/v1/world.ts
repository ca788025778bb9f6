import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestDatabase } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { at, type Call, caller, startControlPlane, type TestControlPlane } from '../routes/start.ts'

export type TestAgent = {
  readonly id: string
  readonly name: string
  readonly key: string
  readonly call: Call
}

/** Control planes on one database, an owner, and agents at will. */
export type World = AsyncDisposable & {
  readonly database: TestDatabase
  readonly plane: TestControlPlane
  readonly admin: Call
  /** Another replica on the same database. */
  replica(): Promise<TestControlPlane>
  agent(given?: { capabilities?: string[]; environment?: string }): Promise<TestAgent>
  /** Looks behind the product's back. */
  sql<R = Record<string, unknown>>(text: string, values?: unknown[]): Promise<R[]>
  /** Types of the audit events of an action, oldest first. */
  chain(actionRequestId: string): Promise<string[]>
}

let agents = 0

export async function startWorld(env: Record<string, string> = {}): Promise<World> {
  const postgres = await workerPostgres()
  const database = await postgres.createMigratedDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'chaperone-v1-'))
  await writeFile(join(folder, 'enrol.token'), ENROL_TOKEN)
  const all = {
    ADMIN_TOKEN_FILE: join(folder, 'admin.token'),
    LOCAL_GATEWAY_TOKEN_FILE: join(folder, 'enrol.token'),
    ...env,
  }
  const plane = await startControlPlane(database, all)
  const planes = [plane]
  const token = (await readFile(join(folder, 'admin.token'), 'utf8')).trim()
  const admin = caller(plane.url, { authorization: `Bearer ${token}` })
  const pool = new pg.Pool({ connectionString: database.adminUrl, max: 2 })
  // The database is dropped while its connections still end.
  pool.on('error', () => undefined)
  const sql: World['sql'] = async (text, values) => (await pool.query(text, values)).rows
  return {
    database,
    plane,
    admin,
    sql,
    async replica() {
      const other = await startControlPlane(database, all)
      planes.push(other)
      return other
    },
    async agent({ capabilities = [], environment = 'development' } = {}) {
      const name = `agent-${++agents}`
      const made = await admin('POST', '/api/dashboard/agents', {
        name,
        runtime: 'test',
        environment,
        capabilities,
      })
      if (made.status !== 200) throw new Error(made.text)
      const key = at(made.body, 'api_key')
      return { id: at(made.body, 'agent_id'), name, key, call: caller(plane.url, bearer(key)) }
    },
    async chain(id) {
      const rows = await sql<{ event_type: string }>(
        'select event_type from audit_events where action_request_id = $1 order by id',
        [id],
      )
      return rows.map((row) => row.event_type)
    },
    async [Symbol.asyncDispose]() {
      await pool.end()
      for (const one of planes) await one.close()
      await postgres.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export const ENROL_TOKEN = 'enrolment-token-of-the-local-gateway'

export function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}

/** What the default policies allow, leave to a person, and deny. */
export const ALLOWED = {
  type: 'codehost.issue.create',
  resource: { provider: 'codehost', target: 'acme/site' },
  parameters: { title: 'hello' },
}
export const RISKY = {
  type: 'codehost.pr.merge',
  resource: { provider: 'codehost', target: 'acme/site', environment: 'production' },
  parameters: { number: 7 },
  context: { reason: 'the release waits' },
}
export const DESTRUCTIVE = {
  type: 'codehost.branch.delete',
  resource: { provider: 'codehost', target: 'acme/site' },
  parameters: { ref: 'heads/main' },
}
