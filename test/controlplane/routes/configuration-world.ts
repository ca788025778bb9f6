import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestDatabase } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { type Answer, at, type Call, caller, startControlPlane, type TestControlPlane } from './start.ts'

export const LOCAL_GATEWAY_TOKEN = 'enrolment-token-of-the-local-gateway'

/** A control plane with its own gateway, and its owner, who has the admin token. */
export type ConfigurationWorld = AsyncDisposable & {
  readonly plane: TestControlPlane
  readonly database: TestDatabase
  /** Folder of the admin token. */
  readonly folder: string
  readonly admin: Call
  /** The quick setup of an agent with connectors. */
  setup(name: string, connectors: readonly unknown[]): Promise<Answer>
  /** Resolves with the id of a new agent. */
  newAgent(name: string): Promise<string>
  gatewayId(name: string): Promise<string>
  /** Types of the audit events of an agent, the oldest first. */
  eventsOf(agentId: string): Promise<string[]>
  asAdmin(text: string): Promise<pg.QueryResult>
  /** Rows of tables as JSON. */
  dump(...tables: readonly string[]): Promise<string>
}

export async function startConfigurationWorld(): Promise<ConfigurationWorld> {
  const server = await workerPostgres()
  const database = await server.createMigratedDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'chaperone-config-'))
  await writeFile(join(folder, 'enrol.token'), `${LOCAL_GATEWAY_TOKEN}\n`)
  const plane = await startControlPlane(database, {
    ADMIN_TOKEN_FILE: join(folder, 'admin.token'),
    LOCAL_GATEWAY_TOKEN_FILE: join(folder, 'enrol.token'),
  })
  const token = (await readFile(join(folder, 'admin.token'), 'utf8')).trim()
  const admin = caller(plane.url, { authorization: `Bearer ${token}` })

  async function asAdmin(text: string): Promise<pg.QueryResult> {
    const client = new pg.Client({ connectionString: database.adminUrl })
    await client.connect()
    try {
      return await client.query(text)
    } finally {
      await client.end()
    }
  }

  return {
    ...{ plane, database, folder, admin, asAdmin },
    setup: (name, connectors) =>
      admin('POST', '/api/dashboard/setup', {
        agent: { name, runtime: 'python', environment: 'development' },
        connectors,
      }),
    async newAgent(name) {
      const agent = { name, runtime: 'x', environment: 'development' }
      return at((await admin('POST', '/api/dashboard/agents', agent)).body, 'agent_id')
    },
    async gatewayId(name) {
      const { body } = await admin('GET', '/api/dashboard/gateway')
      const gateways = at<{ id: string; name: string }[]>(body, 'gateways')
      return gateways.find((gateway) => gateway.name === name)?.id ?? 'none'
    },
    async eventsOf(agentId) {
      const { rows } = await asAdmin(
        `select event_type from audit_events where agent_id = '${agentId}' order by id`,
      )
      return rows.map((row) => row.event_type as string)
    },
    async dump(...tables) {
      const results = await Promise.all(
        tables.map((table) => asAdmin(`select row_to_json(t)::text as row from ${table} t order by 1`)),
      )
      return results.flatMap((result) => result.rows.map((row) => row.row as string)).join('\n')
    },
    async [Symbol.asyncDispose]() {
      await plane.close()
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
