import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../controlplane/cli/postgres/embedded-postgres.ts'
import { issueAgentKey } from '../../../controlplane/crypto/tokens.ts'
import { end, type Served, serve } from '../../support/processes.ts'
import { treeCpuUs } from './measure.ts'

const CONTROL_PLANE = new URL('../../../controlplane/main.ts', import.meta.url).pathname
const PEER = new URL('../peers/durable-peer.mjs', import.meta.url).pathname

export type KeyedAgent = { readonly id: string; readonly key: string }

/** The PostgreSQL that comes with the product, with its own settings: every commit is on disk. */
export type DurableBed = AsyncDisposable & {
  readonly postgres: EmbeddedPostgres
  readonly sql: pg.Pool
  readonly folder: string
  /** CPU of a service and of the database, in microseconds: only one service works at a time. */
  cpuUs(service: Served): number
}

export async function startDurableBed(folder: string): Promise<DurableBed> {
  mkdirSync(folder, { recursive: true })
  const postgres = await startPostgresIn(folder)
  const sql = new pg.Pool({ connectionString: postgres.url, max: 2 })
  // The proof kills the server under it.
  sql.on('error', () => undefined)
  return {
    postgres,
    sql,
    folder,
    cpuUs: (service) => treeCpuUs(service.pid) + treeCpuUs(postgres.pid),
    async [Symbol.asyncDispose]() {
      await sql.end()
      await postgres.stop()
    },
  }
}

export function startPostgresIn(folder: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({
    dir: join(folder, 'postgres'),
    password: { value: 'bench', isNew: false },
    logFile: join(folder, 'postgres.log'),
  })
}

export function startPlane(
  bed: Pick<DurableBed, 'folder'>,
  databaseUrl: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const enrolFile = join(bed.folder, 'enrol.token')
  writeFileSync(enrolFile, 'enrolment-token-of-the-bench')
  return serve(CONTROL_PLANE, {
    PORT: '0',
    DATABASE_URL: databaseUrl,
    MASTER_KEY: 'ab'.repeat(32),
    ADMIN_TOKEN_FILE: join(bed.folder, 'admin.token'),
    LOCAL_GATEWAY_TOKEN_FILE: enrolFile,
    LOG_LEVEL: 'warn',
    ...env,
  })
}

/** `statement`: everything of an action in one statement. `transaction`: one transaction, a statement for each step. */
export type PeerMode = 'statement' | 'transaction'

/** Its tables are copies of ours, indexes included, in a schema of its own. Start the control plane first. */
export async function startDurablePeer(bed: DurableBed, mode: PeerMode): Promise<Served> {
  const schema = `peer_${mode}`
  await bed.sql.query(`drop schema if exists ${schema} cascade; create schema ${schema}`)
  for (const table of ['agents', 'action_requests', 'nonces', 'audit_events']) {
    await bed.sql.query(`create table ${schema}.${table} (like public.${table} including all)`)
  }
  await bed.sql.query(
    `create unlogged table ${schema}.agent_windows (like public.agent_windows including all,
       is_admitted boolean not null)`,
  )
  return serve(PEER, { MODE: mode, DATABASE_URL: bed.postgres.url, SCHEMA: schema })
}

/** Agents enough for so many requests: each may send 60 a minute. Known to all services at once. */
export async function makeAgents(bed: DurableBed, requests: number): Promise<readonly KeyedAgent[]> {
  const made = Array.from({ length: Math.ceil(requests / 60) }, (_, i) => ({
    i,
    ...issueAgentKey('development'),
  }))
  const agents = made.map(({ i, key, prefix, sha256 }) => {
    const id = `agent_bench${Date.now().toString(36)}${i}`
    return { id, name: `bench-${id}`, key, prefix, sha256: sha256.toString('hex') }
  })
  const schemas = ['public', 'peer_statement', 'peer_transaction']
  for (const schema of schemas) {
    const { rowCount } = await bed.sql.query('select from pg_namespace where nspname = $1', [schema])
    if (rowCount === 0) continue
    await bed.sql.query(
      `insert into ${schema}.agents (id, org_id, name, api_key_prefix, api_key_sha256)
       select a.id, o.id, a.name, a.prefix, decode(a.sha256, 'hex')
       from orgs o, jsonb_to_recordset($1::jsonb) as a(id text, name text, prefix text, sha256 text)`,
      [JSON.stringify(agents)],
    )
  }
  await bed.sql.query('update config_version set version = version + 1')
  return agents
}

export async function stopAll(services: readonly Served[]): Promise<void> {
  await Promise.all(services.map(({ child }) => end(child)))
}
